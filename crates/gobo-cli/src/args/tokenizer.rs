use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenizerCommand {
    /// Import a model folder, tokenizer.json, tekken.json, tokenizer.model, GGUF or .tiktoken file. With --server: into the
    /// daemon's store
    Import {
        /// The file or folder
        path: PathBuf,
        /// Name in the store [default: from the path]
        #[arg(long, value_name = "N")]
        name: Option<String>,
        /// Width of the model's logits, if padded beyond the vocabulary
        #[arg(long, value_name = "W")]
        logits_width: Option<u32>,
        /// Special tokens of a rank file: a JSON object from names to ids
        #[arg(long, value_name = "FILE")]
        special: Option<PathBuf>,
        /// Ids or names of the tokens that end a text [default: what the model's folder says, else well-known names]
        #[arg(long, value_name = "ID|TEXT", num_args = 1..)]
        eos: Vec<String>,
        /// Id or name of the token that begins a text; no mask depends on it [default: found like those of --eos]
        #[arg(long, value_name = "ID|TEXT")]
        bos: Option<String>,
        /// Id or name of the token that fills up a batch; no mask depends on it [default: found like those of --eos]
        #[arg(long, value_name = "ID|TEXT")]
        pad: Option<String>,
        /// Also if the name stands for another vocabulary, or has another binding
        #[arg(long)]
        replace: bool,
    },
    /// List the names in the store, and the built-in ones. With --server: those in the daemon's store
    List,
    /// Compare a vocabulary with its source, id by id, and list what it cannot write
    Verify {
        /// A built-in name, an imported name, or a path
        tokenizer: String,
        /// The source, if it has moved since it was imported
        #[arg(long, value_name = "FILE")]
        source: Option<PathBuf>,
    },
    /// Remove a name, and its vocabulary unless another name or an index needs it
    Rm {
        /// A name in the store
        name: String,
        /// Also if it is the last name of a vocabulary that has indices: they stay, and so does its file
        #[arg(long)]
        force: bool,
    },
    /// Show one vocabulary. With --server: one of the daemon's, by its name
    Show {
        /// A built-in name, an imported name, or a path
        tokenizer: String,
    },
}
