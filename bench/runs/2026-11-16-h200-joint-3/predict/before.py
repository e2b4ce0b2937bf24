# What the rule of before gives from a table with both kinds of samples, and what the new one gives. Usage: before.py MODEL DIR
import json,sys,math,glob,os
m=json.load(open(sys.argv[1])); sv=m['svr']
def svr(f):
    z=[max(-3,min(3,(x-a)/b)) for x,a,b in zip(f,sv['mean'],sv['spread'])]
    g=sv['settings']['gamma']
    return sum(w*(math.exp(-g*sum((x-y)**2 for x,y in zip(z,s))/len(z))+1) for w,s in zip(sv['weight'],sv['support']))
def cut(W): return None if W<20 else (1,3) if W<50 else (1,4) if W<100 else (2,6)
print(f"{'launch':44} {'waves':>6} {'measured':>9} {'before':>9} {'':>6} {'now':>9} {'':>6} {'line':>6} sampling before/now, uneven")
for p in sorted(glob.glob(sys.argv[2]+'/table-*.jsonl')):
    rows=[json.loads(l) for l in open(p)]
    ks=[]
    for r in rows:
        if r['kernel'] not in ks: ks.append(r['kernel'])
    for k in ks:
        rs=[r for r in rows if r['kernel']==k]
        w=[r for r in rs if r['run']=='whole'][0]
        wave=w['resident']*w['sms']; W=w['count']/wave; c=cut(W); T=w['time']['median_s']
        tag=os.path.basename(p)[6:-6]+' '+k
        if not c: print(f"{tag:44} {W:6.1f} {1e6*T:9.1f} runs whole"); continue
        def get(first,n):
            x=[r for r in rs if r['run']=='part' and r['first']==first and r['count']==n*wave]
            return x[-1]['time']['median_s'] if x else None
        S,L,M=get(0,c[0]),get(0,c[1]),get(w['count']//2,c[0])
        ML=get(w['count']//2,c[1])
        sides=[get(max(0,int(x*w['count'])-c[0]*wave//2),c[0]) for x in (0.1127016653792583,0.8872983346207417)]
        u=M/S-1
        def feats(base,long,slope):
            log=lambda x:math.log(max(x,1e-12))
            return [log(long/base)-log(c[1]/c[0]),log(1+u),log(W),W-math.floor(W),w['resident']*-(-math.prod(w['block'])//32)/64,log(max(w['registers'],1)),log(math.prod(w['block'])),math.log(1+w['sectors']),w['segments']/max(w['sectors'],1e-6),log(slope*wave)]
        def line(base,long):
            sl=max((long-base)/((c[1]-c[0])*wave),0.05*base/(c[0]*wave))
            return sl, base+sl*(w['count']-c[0]*wave)
        sl,lin=line(S,L) if L else (None,None)
        clamp=lambda f:max(1/1.6,min(1.6,math.exp(f)))
        b=None
        if L: b=lin*(1+u if abs(u)>.2 else 1)*clamp(svr(feats(S,L,sl)))
        if abs(u)>.2 and ML:
            s2,l2=line(M,ML); begin=max(0,M-s2*c[0]*wave); pl=l2
            if all(sides): pl=begin+(sum(5/18*max(0,x-begin)/(c[0]*wave) for x in sides)+8/18*s2)*w['count']
            n=pl*clamp(svr(feats(M,ML,s2))); cost=(S+M+ML+sum(x for x in sides if x))/T
        else: n=b; pl=lin; cost=(S+L+M)/T
        pc=lambda x:f"{100*(x/T-1):+6.1f}" if x else '      '
        print(f"{tag:44} {W:6.1f} {1e6*T:9.1f} {1e6*b if b else 0:9.1f} {pc(b)} {1e6*n:9.1f} {pc(n)} {pc(pl)} {100*(S+(L or 0)+M)/T:5.1f} {100*cost:5.1f} {100*u:+5.0f}")
