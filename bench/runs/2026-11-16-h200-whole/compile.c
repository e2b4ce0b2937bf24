#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double now(void){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+1e-9*t.tv_nsec;}
static char*text;static int N,T,mode,base;static CUcontext ctx;
#define CK(x) do{CUresult r=(x);if(r){const char*s;cuGetErrorString(r,&s);fprintf(stderr,"%s: %s\n",#x,s);exit(1);}}while(0)
static void one(int i){
  char*t=malloc(strlen(text)+64);sprintf(t,"%s\n// %d\n",text,base+i);
  if(mode==4||mode==5){CUlibrary l;CK(cuLibraryLoadData(&l,t,0,0,0,0,0,0));
   if(mode==5){unsigned k;CK(cuLibraryGetKernelCount(&k,l));CUkernel ks[8];CK(cuLibraryEnumerateKernels(ks,k<8?k:8,l));CUfunction f;CK(cuKernelGetFunction(&f,ks[0]));int r;CK(cuFuncGetAttribute(&r,CU_FUNC_ATTRIBUTE_NUM_REGS,f));}
   CK(cuLibraryUnload(l));}
  else if(mode==0||mode==3){CUmodule m;CK(cuModuleLoadDataEx(&m,t,0,0,0));CK(cuModuleUnload(m));}
  else{CUlinkState l;CK(cuLinkCreate(0,0,0,&l));CK(cuLinkAddData(l,CU_JIT_INPUT_PTX,t,strlen(t)+1,"k",0,0,0));void*b;size_t n;CK(cuLinkComplete(l,&b,&n));
   if(mode==2){CUmodule m;CK(cuModuleLoadData(&m,b));CK(cuModuleUnload(m));}CK(cuLinkDestroy(l));}
  free(t);
}
static void*work(void*a){if(mode==3){CUcontext c;double t0=now();CK(cuCtxCreate_v2(&c,0,0));if(!a)printf("context %.0f ms\n",1e3*(now()-t0));}else CK(cuCtxSetCurrent(ctx));for(int i=(int)(long)a;i<N;i+=T)one(i);return 0;}
int main(int c,char**v){
  FILE*f=fopen(v[1],"r");fseek(f,0,SEEK_END);long n=ftell(f);rewind(f);text=calloc(n+1,1);fread(text,1,n,f);
  N=atoi(v[2]);T=atoi(v[3]);mode=atoi(v[4]);base=atoi(v[5]);
  CK(cuInit(0));CUdevice d;CK(cuDeviceGet(&d,0));CK(cuDevicePrimaryCtxRetain(&ctx,d));CK(cuCtxSetCurrent(ctx));
  double t=now();pthread_t th[64];for(long i=0;i<T;i++)pthread_create(&th[i],0,work,(void*)i);for(int i=0;i<T;i++)pthread_join(th[i],0);
  t=now()-t;printf("%s mode %d threads %d: %.1f ms each, %.3f s in all\n",v[1],mode,T,1e3*t/N,t);
}
