// Whitted ray tracing of spheres above a chequered plane: nearest hits, one lamp with shadows, mirrors up to a depth.
// One thread a pixel; neighbouring rays part where they meet different things.
#define SPHERES 48
#define FAR 60.0f
#define EPSILON 1.0e-3f

struct Sphere {
    float x, y, z, radius;
    float red, green, blue, mirror;
};

__constant__ Sphere spheres[SPHERES];

struct Vec {
    float x, y, z;
};

__device__ __forceinline__ Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ __forceinline__ Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ __forceinline__ Vec operator*(float s, Vec a) { return {s * a.x, s * a.y, s * a.z}; }
__device__ __forceinline__ float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ Vec unit(Vec a) { return rsqrtf(dot(a, a)) * a; }

// Distance along the ray to the sphere, FAR if it misses.
__device__ float hit(const Sphere &s, Vec origin, Vec direction)
{
    const Vec to = {s.x - origin.x, s.y - origin.y, s.z - origin.z};
    const float along = dot(to, direction);
    const Vec aside = to - along * direction; // not |to|^2 - along^2, which cancels far away
    const float d2 = s.radius * s.radius - dot(aside, aside);
    if (d2 <= 0.0f)
        return FAR;
    const float d = sqrtf(d2);
    if (along - d > EPSILON)
        return along - d;
    return along + d > EPSILON ? along + d : FAR;
}

__device__ bool shadowed(Vec origin, Vec direction, float distance)
{
    for (int i = 0; i < SPHERES; i++)
        if (hit(spheres[i], origin, direction) < distance)
            return true;
    return false;
}

__global__ void trace(float *__restrict__ red, float *__restrict__ green, float *__restrict__ blue, float lamp_x,
                      float lamp_y, float lamp_z, float view, int width, int height, int depth)
{
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    const Vec lamp = {lamp_x, lamp_y, lamp_z};
    Vec origin = {0.0f, 2.0f, -9.0f};
    Vec direction = unit({view * (px + 0.5f - 0.5f * width) / height, view * (0.5f * height - py - 0.5f) / height, 1.0f});
    Vec colour = {0.0f, 0.0f, 0.0f};
    float weight = 1.0f;

    for (int bounce = 0; bounce <= depth; bounce++) {
        float nearest = FAR;
        int which = -1;
        for (int i = 0; i < SPHERES; i++) {
            const float t = hit(spheres[i], origin, direction);
            if (t < nearest) {
                nearest = t;
                which = i;
            }
        }
        const float plane = direction.y < 0.0f ? -origin.y / direction.y : FAR;
        Vec normal, albedo;
        float mirror;
        if (plane > EPSILON && plane < nearest) {
            nearest = plane;
            const Vec p = origin + plane * direction;
            const int odd = ((int)floorf(p.x) + (int)floorf(p.z)) & 1;
            normal = {0.0f, 1.0f, 0.0f};
            albedo = odd ? Vec{0.9f, 0.9f, 0.9f} : Vec{0.2f, 0.2f, 0.25f};
            mirror = 0.1f;
        } else if (which >= 0) {
            const Sphere s = spheres[which];
            const Vec p = origin + nearest * direction;
            normal = 1.0f / s.radius * (p - Vec{s.x, s.y, s.z});
            albedo = {s.red, s.green, s.blue};
            mirror = s.mirror;
        } else { // the sky
            const float up = 0.5f * (direction.y + 1.0f);
            colour = colour + weight * Vec{0.9f - 0.4f * up, 0.9f - 0.2f * up, 1.0f};
            break;
        }
        const Vec point = origin + nearest * direction;
        const Vec to_lamp = lamp - point;
        const float distance2 = dot(to_lamp, to_lamp);
        const float inverse = rsqrtf(distance2);
        const Vec light = inverse * to_lamp;
        const float cosine = dot(normal, light);
        float brightness = 0.1f;
        if (cosine > 0.0f && !shadowed(point, light, distance2 * inverse)) {
            const Vec half_way = unit(light - direction);
            const float shine = fmaxf(dot(normal, half_way), 0.0f);
            brightness += 0.8f * cosine + 0.3f * mirror * powf(shine, 40.0f);
        }
        colour = colour + (weight * (1.0f - mirror) * brightness) * albedo;
        weight *= mirror;
        if (weight < 0.02f)
            break;
        origin = point;
        direction = direction - (2.0f * dot(direction, normal)) * normal;
    }
    const int at = py * width + px;
    red[at] = sqrtf(colour.x);
    green[at] = sqrtf(colour.y);
    blue[at] = sqrtf(colour.z);
}
