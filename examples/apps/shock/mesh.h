// A mesh of quadrilaterals that moves with the gas: data of elements and of nodes.
#pragma once

// Corners of element (i, j) are numbered against the clock, from the lower left.
struct Mesh {
  int n;                   // elements along one side
  double *x, *y;           // nodes: position
  double *u, *v;           // nodes: velocity
  double *ub, *vb;         // nodes: mean velocity of the step
  double *mass;            // nodes: mass
  double *element_mass;    // elements: mass
  double *area;            // elements: area
  double *rate;            // elements: rate of change of the area
  double *energy;          // elements: internal energy of a unit of mass
  double *pressure;        // elements: pressure
  double *sound;           // elements: speed of sound
  double *viscosity;       // elements: artificial viscosity
  double *fx, *fy;         // corners of elements: force, four for each element
};

struct Gas {
  double gamma;            // ratio of specific heats
  double linear;           // linear and
  double quadratic;        // quadratic coefficient of the artificial viscosity
  double hourglass;        // strength of the hourglass filter
};

__global__ void place_nodes(int n, double *x, double *y, double *u, double *v);
__global__ void fill_elements(int n, const double *x, const double *y, double density, double source,
                              double background, double *element_mass, double *area, double *energy);
__global__ void node_masses(int n, const double *element_mass, double *mass);
__global__ void element_geometry(int n, const double *x, const double *y, const double *u, const double *v,
                                 double *area, double *rate);
__global__ void equation_of_state(int elements, Gas gas, const double *element_mass, const double *area,
                                  const double *energy, double *pressure, double *sound);
__global__ void artificial_viscosity(int elements, Gas gas, const double *element_mass, const double *area,
                                     const double *rate, const double *sound, double *viscosity);
__global__ void corner_forces(int n, const double *x, const double *y, const double *pressure,
                              const double *viscosity, double *fx, double *fy);
__global__ void hourglass_forces(int n, Gas gas, const double *u, const double *v, const double *element_mass,
                                 const double *area, const double *sound, double *fx, double *fy);
__global__ void accelerate(int n, double dt, const double *fx, const double *fy, const double *mass, double *u,
                           double *v, double *ub, double *vb);
__global__ void do_work(int n, double dt, const double *fx, const double *fy, const double *ub,
                        const double *vb, const double *element_mass, double *energy);
__global__ void move_nodes(int nodes, double dt, const double *ub, const double *vb, double *x, double *y);
__global__ void time_limits(int elements, const double *area, const double *rate, const double *sound,
                            double *limits);
