//! `kerf completions` and `kerf man`: what shells and man read, from the definitions that `--help` has.
use crate::Cli;
use crate::fail::Failure;
use crate::output::say;
use clap::CommandFactory;
use std::path::Path;

/// Shells that completions are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    /// GNU bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

/// The commands that people call: those that Kerf calls itself by are nobody's to complete.
fn visible() -> clap::Command {
    let all = Cli::command();
    let some: Vec<clap::Command> = all
        .get_subcommands()
        .filter(|c| !c.is_hide_set())
        .cloned()
        .collect();
    let own: Vec<clap::Arg> = all
        .get_arguments()
        .filter(|a| !a.is_hide_set())
        .cloned()
        .collect();
    let mut kept = clap::Command::new("kerf")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .subcommand_required(true)
        .args(own)
        .subcommands(some);
    if let Some(about) = all.get_about() {
        kept = kept.about(about.clone());
    }
    kept
}

fn text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|e| Failure::new(e.to_string()))
}

/// Prints a shell's completions.
pub fn completions(shell: Shell) -> Result<i32, Failure> {
    use clap_complete::shells;
    let mut all = visible();
    let mut out = Vec::new();
    match shell {
        Shell::Bash => clap_complete::generate(shells::Bash, &mut all, "kerf", &mut out),
        Shell::Zsh => clap_complete::generate(shells::Zsh, &mut all, "kerf", &mut out),
        Shell::Fish => clap_complete::generate(shells::Fish, &mut all, "kerf", &mut out),
    }
    say(&text(out)?)?;
    Ok(0)
}

/// Prints the manual page of `kerf`, or writes one for every command into a folder.
pub fn man(out: Option<&Path>) -> Result<i32, Failure> {
    let Some(dir) = out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(visible())
            .render(&mut page)
            .map_err(|e| Failure::new(e.to_string()))?;
        say(&text(page)?)?;
        return Ok(0);
    };
    let refused = |e: std::io::Error| {
        Failure::new(format!("cannot write into {}: {e}", dir.display()))
            .help("choose another folder with --out")
    };
    std::fs::create_dir_all(dir).map_err(refused)?;
    clap_mangen::generate_to(visible(), dir).map_err(refused)?;
    say(&format!("{}\n", dir.display()))?;
    Ok(0)
}
