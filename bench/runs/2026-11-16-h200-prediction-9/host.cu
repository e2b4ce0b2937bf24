#define main other_main
#include "black_scholes.cu"
#undef main
#include <algorithm>
__global__ void clr(uint4*m,int w){unsigned i=blockIdx.x*blockDim.x+threadIdx.x;unsigned h=((i>>3)*0x9E3779B1u)>>24;if((int)h<w)m[i]=make_uint4(i,i,i,i);else{uint4 a=m[i];if((a.x&a.y&a.z&a.w)==0xffffffff)m[i].x=0;}}
__global__ void fill(double*p,double lo,double hi,int n,unsigned s){int i=blockIdx.x*blockDim.x+threadIdx.x;if(i<n){unsigned h=(i+1)*2654435761u^s;h^=h>>15;h*=0x85ebca6b;h^=h>>13;h*=0xc2b2ae35;h^=h>>16;p[i]=lo+(hi-lo)*(h/4294967296.0);}}
int main(){
 int ns[]={1000000,2000000,4000000,8000000,16000000};
 for(int n:ns){double*b[5],*kc[2];uint4*cm;for(int i=0;i<5;i++)cudaMalloc(&b[i],n*8);for(int i=0;i<2;i++){cudaMalloc(&kc[i],n*8);cudaMemset(kc[i],0,n*8);}cudaMalloc(&cm,128<<20);
  fill<<<(n+255)/256,256>>>(b[0],25,35,n,1);fill<<<(n+255)/256,256>>>(b[1],20,40,n,2);fill<<<(n+255)/256,256>>>(b[2],.25,2,n,3);cudaMemset(b[3],0,n*8);cudaMemset(b[4],0,n*8);
  cudaStream_t st;cudaStreamCreateWithFlags(&st,cudaStreamNonBlocking);cudaDeviceSynchronize();
  cudaGraph_t g;cudaGraphExec_t ge;cudaStreamBeginCapture(st,cudaStreamCaptureModeThreadLocal);black_scholes<<<(n+127)/128,128,0,st>>>(b[0],b[1],b[2],b[3],b[4],.02,.3,n);cudaStreamEndCapture(st,&g);cudaGraphInstantiate(&ge,g,0);
  for(int rep=0;rep<2;rep++)
  for(int mode=0;mode<16;mode++){ // bit0 copy, bit1 clear, bit2 graph, bit3 wait between
   const int R=20;cudaEvent_t e[2*R];for(auto&x:e)cudaEventCreate(&x);
   for(int r=0;r<R;r++){
    if(mode&1)for(int i=0;i<2;i++)cudaMemcpyAsync(b[3+i],kc[i],n*8,cudaMemcpyDeviceToDevice,st);
    if(mode&2)clr<<<(128<<20)/16/256,256,0,st>>>(cm,128);
    cudaEventRecord(e[2*r],st);
    if(mode&4)cudaGraphLaunch(ge,st);else black_scholes<<<(n+127)/128,128,0,st>>>(b[0],b[1],b[2],b[3],b[4],.02,.3,n);
    cudaEventRecord(e[2*r+1],st);
    if(mode&8)cudaStreamSynchronize(st);}
   cudaStreamSynchronize(st);std::vector<float>t(R);for(int r=0;r<R;r++)cudaEventElapsedTime(&t[r],e[2*r],e[2*r+1]);float first=t[0];std::sort(t.begin(),t.end());
   printf("n %d %s %s %s %s: first %.1f min %.1f median %.1f max %.1f us\n",n,mode&1?"copy":"----",mode&2?"clear":"-----",mode&4?"graph":"plain",mode&8?"wait":"----",first*1e3,t[0]*1e3,t[R/2]*1e3,t[R-1]*1e3);
   for(auto&x:e)cudaEventDestroy(x);}
  // one long queue of kernels, no events between
  cudaEvent_t a,z;cudaEventCreate(&a);cudaEventCreate(&z);cudaEventRecord(a,st);for(int r=0;r<50;r++)black_scholes<<<(n+127)/128,128,0,st>>>(b[0],b[1],b[2],b[3],b[4],.02,.3,n);cudaEventRecord(z,st);cudaStreamSynchronize(st);float x;cudaEventElapsedTime(&x,a,z);printf("n %d: 50 in a row: %.1f us each; %s\n",n,x*20,cudaGetErrorString(cudaGetLastError()));
  for(int i=0;i<5;i++)cudaFree(b[i]);for(int i=0;i<2;i++)cudaFree(kc[i]);cudaFree(cm);}
}
