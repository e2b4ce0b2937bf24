//! Constructs that nvcc knows and Kerf does not, told by what clang says of them.
//!
//! clang refuses these as undeclared names or wrong calls, which says nothing of why. Here its errors are read, and
//! those that stand for such a construct are given its name.

/// One construct.
struct Construct {
    name: &'static str,
    why: &'static str,
    help: &'static str,
    /// Is it what an error is about? By the error's text, and the line of the source that clang quotes.
    is_meant: fn(&str, &str) -> bool,
}

/// A place that uses a construct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedUse {
    /// File, line and column, as clang writes them.
    pub place: String,
    /// What is used.
    pub construct: &'static str,
    /// Why it is not supported.
    pub why: &'static str,
    /// What to do instead.
    pub help: &'static str,
}

impl std::fmt::Display for UnsupportedUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnsupportedUse {
            place,
            construct,
            why,
            ..
        } = self;
        write!(f, "{place}: {construct}: {why}")
    }
}

/// The name that an error quotes first.
fn quoted(error: &str) -> &str {
    error.split('\'').nth(1).unwrap_or_default()
}

const CONSTRUCTS: &[Construct] = &[
    Construct {
        name: "thread-block clusters",
        why: "blocks of a cluster read each other's shared memory, which neither executor models",
        help: "exchange values between blocks through global memory, or leave the cluster version out with #ifndef __KERF__",
        is_meant: |error, _| {
            let names = ["cluster_group", "this_cluster", "cluster_"];
            names.iter().any(|n| quoted(error).starts_with(n))
        },
    },
    Construct {
        name: "dynamic parallelism",
        why: "kernels that launch kernels, or call CUDA's runtime on the device, are not supported",
        help: "launch the second kernel from the host, or from the workload file ([[launch]] in order)",
        is_meant: |error, _| {
            let call = error.contains("no matching function for call to 'cuda");
            error.contains("kernel launch from __device__ or __global__ function")
                || call
                || error.contains("reference to __host__ function 'cuda")
        },
    },
    Construct {
        name: "images of OpenCL",
        why: "images and samplers are not supported on either executor",
        help: "pass the pixels as a __global buffer, with width and height",
        is_meant: |error, _| {
            let starts = [
                "read_image",
                "write_image",
                "get_image_",
                "image1d",
                "image2d",
                "image3d",
                "CLK_NORMALIZED",
                "CLK_ADDRESS",
                "CLK_FILTER",
            ];
            starts.iter().any(|s| quoted(error).starts_with(s))
        },
    },
    Construct {
        name: "a __shared__ cuda::barrier",
        why: "asynchronous barriers are not supported",
        help: "use __syncthreads(), or sync() of a cooperative group",
        is_meant: |error, line| {
            is_shared_constructor(error) && (line.contains("barrier") || line.contains("pipeline"))
        },
    },
    Construct {
        name: "a __shared__ variable with a constructor",
        why: "nobody would run it: each block has its own copy",
        help: "use a type without a constructor, and let one thread set its value",
        is_meant: |error, _| is_shared_constructor(error),
    },
];

fn is_shared_constructor(error: &str) -> bool {
    error.contains("initialization is not supported for __shared__ variables")
}

/// What clang's errors say of such constructs, each construct once, and whether that is all they say.
pub fn uses(messages: &str) -> (Vec<UnsupportedUse>, bool) {
    let mut found: Vec<UnsupportedUse> = Vec::new();
    let mut all = true;
    let lines: Vec<&str> = messages.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        let Some((place, error)) = line
            .split_once(": error: ")
            .or_else(|| line.split_once(": fatal error: "))
        else {
            continue;
        };
        let source = lines.get(i + 1).copied().unwrap_or_default();
        match CONSTRUCTS.iter().find(|c| (c.is_meant)(error, source)) {
            None => all = false,
            Some(c) if found.iter().any(|u| u.construct == c.name) => {}
            Some(c) => found.push(UnsupportedUse {
                place: place.to_owned(),
                construct: c.name,
                why: c.why,
                help: c.help,
            }),
        }
    }
    (found, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructs_are_told_once_with_their_first_place() {
        let text = "k.cl:3:31: error: use of undeclared identifier 'read_imagef'\n    3 |   x\n\
                    k.cl:3:52: error: use of undeclared identifier 'CLK_FILTER_NEAREST'\n\
                    2 errors generated when compiling for sm_90.";
        let (found, all) = uses(text);
        assert!(all);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "k.cl:3:31");
        assert!(found[0].to_string().contains("images of OpenCL"));
    }

    #[test]
    fn other_errors_are_left_to_clang() {
        let (found, all) = uses("k.cu:1:2: error: use of undeclared identifier 'n'\n");
        assert!(found.is_empty() && !all);
        let both = "k.cu:1:2: error: use of undeclared identifier 'n'\nk.cu:2:9: error: use of undeclared identifier 'read_imagef'\n";
        let (found, all) = uses(both);
        assert_eq!((found.len(), all), (1, false));
    }

    #[test]
    fn a_shared_barrier_is_told_from_other_constructors() {
        let error = |line: &str| {
            format!(
                "k.cu:3:54: error: initialization is not supported for __shared__ variables\n    3 |   {line}\n"
            )
        };
        let name = |line: &str| uses(&error(line)).0[0].construct;
        assert_eq!(
            name("__shared__ cuda::barrier<cuda::thread_scope_block> b;"),
            "a __shared__ cuda::barrier"
        );
        assert_eq!(
            name("__shared__ Sum s;"),
            "a __shared__ variable with a constructor"
        );
    }
}
