//! Why a plan cannot be used, and where.
use crate::block_refusal::BlockRefusal;
use crate::coarsen::CoarsenObstacle;
use crate::code_shape::CodeShapeObstacle;
use crate::format_refusal::FormatRefusal;
use crate::math::{MathRefusal, MathVariant};
use crate::partition::PartitionRefusal;
use crate::records::RecordRefusal;
use crate::site_format::SiteFormat;
use crate::storage::StorageRefusal;
use kerf_llvm::LlvmError;
use kerf_num::StorageFormat;

/// Where a plan asks for something.
#[derive(Debug, Clone)]
pub struct PlanPlace {
    /// Kernel.
    pub kernel: String,
    /// Site.
    pub site: usize,
    /// What the site does.
    pub op: String,
    /// Source line, if known.
    pub line: Option<u32>,
}

impl std::fmt::Display for PlanPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "site {} of kernel {} ({}",
            self.site, self.kernel, self.op
        )?;
        match self.line {
            Some(l) => write!(f, ", line {l})"),
            None => write!(f, ")"),
        }
    }
}

/// Why a plan cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// What is asked of its blocks cannot be.
    #[error("{kernel}: {why}")]
    Block {
        /// Kernel.
        kernel: String,
        /// Why.
        why: BlockRefusal,
    },
    /// A thread cannot do the work of several.
    #[error("threads of kernel {kernel} cannot do the work of several: {why}")]
    Coarsen {
        /// Kernel.
        kernel: String,
        /// What stands against it.
        why: CoarsenObstacle,
    },
    /// The kernel's code cannot be laid out so.
    #[error("the code of kernel {kernel} cannot be laid out as the plan says: {why}")]
    Code {
        /// Kernel.
        kernel: String,
        /// What stands against it.
        why: CodeShapeObstacle,
    },
    /// Records of a buffer cannot be stored so.
    #[error(
        "the records of `{buffer}` of kernel {kernel} cannot be stored as the plan says: {why}"
    )]
    Records {
        /// Kernel.
        kernel: String,
        /// As the plan names the buffer.
        buffer: String,
        /// What stands against it.
        why: RecordRefusal,
    },
    /// Two entries of the plan say how records of a kernel are stored.
    #[error("the plan names kernel {0} twice, with records; help: put them into one entry")]
    RecordsTwice(String),
    /// It does not parse.
    #[error("not a plan: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A later version's.
    #[error("plan version {0} is not known; this Kerf reads version 1")]
    Version(u32),
    /// There is no such kernel.
    #[error(
        "the plan names kernel `{kernel}`, which the source does not have; expected one of {}",
        have.join(", ")
    )]
    UnknownKernel {
        /// As the plan names it.
        kernel: String,
        /// Those that are there.
        have: Vec<String>,
    },
    /// There is no such site.
    #[error("the plan names site {site} of kernel {kernel}, which has {count} sites, from 0")]
    UnknownSite {
        /// Kernel.
        kernel: String,
        /// As the plan numbers it.
        site: usize,
        /// Sites of the kernel.
        count: usize,
    },
    /// The site has no such form.
    #[error("{place} cannot become {format}: {why}")]
    Refused {
        /// The site.
        place: PlanPlace,
        /// Format asked for.
        format: SiteFormat,
        /// What stands against it.
        why: FormatRefusal,
    },
    /// The site has no such variant.
    #[error("{place} cannot be computed by {variant}: {why}")]
    Variant {
        /// The site.
        place: PlanPlace,
        /// Variant asked for.
        variant: MathVariant,
        /// What stands against it.
        why: MathRefusal,
    },
    /// The site cannot be computed by the made function.
    #[error("{place} cannot be computed by a function made for {function}: {why}")]
    Made {
        /// The site.
        place: PlanPlace,
        /// The function that it was made for.
        function: String,
        /// What stands against it.
        why: Box<crate::made_calls::MadeCallError>,
    },
    /// A kernel cannot be run in two versions.
    #[error("kernel {kernel} cannot run in two versions: {why}")]
    Partition {
        /// Kernel.
        kernel: String,
        /// What stands against it.
        why: PartitionRefusal,
    },
    /// A cluster of expressions cannot be written so.
    #[error("expressions of kernel {kernel} cannot be rewritten: {why}")]
    Rewriting {
        /// Kernel.
        kernel: String,
        /// What stands against it.
        why: crate::rewriting::RewritingError,
    },
    /// A rewritten site has a variant of what is no more.
    #[error(
        "{place} is rewritten, and the plan gives it variant {variant} as well; one of the two has to go"
    )]
    RewrittenVariant {
        /// The site.
        place: PlanPlace,
        /// Variant asked for.
        variant: MathVariant,
    },
    /// A kernel whose expressions are rewritten is named twice.
    #[error("the plan names kernel {0} twice, and rewrites expressions of it")]
    RewrittenTwice(String),
    /// A buffer or array cannot be held in the format.
    #[error("`{buffer}` of kernel {kernel} cannot be held in {format}: {why}")]
    Storage {
        /// Kernel.
        kernel: String,
        /// Buffer or array, as the plan names it.
        buffer: String,
        /// Format asked for.
        format: StorageFormat,
        /// What stands against it.
        why: StorageRefusal,
    },
    /// Kernels want a variable in different formats.
    #[error("kernels {} use the variable `{variable}`, which the plan does not hold in one format", kernels.join(" and "))]
    SharedVariable {
        /// The variable.
        variable: String,
        /// The kernels.
        kernels: [String; 2],
    },
    /// Kernels want different things of a function that is called through pointers.
    #[error("kernels want different formats of {function}, which is called through a pointer")]
    Shared {
        /// The function.
        function: String,
    },
    /// A pass failed.
    #[error("the plan could not be carried out: {0}")]
    Pass(#[from] LlvmError),
}
