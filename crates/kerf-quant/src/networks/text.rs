//! A small transformer over characters, with the names and the order of GPT-2 (pre-normalisation).
use super::NetworkError;
use crate::graph::{Graph, GraphBuilder, GraphValue, InitStyle, InputSpec, Op};

const BLOCKS: usize = 2;
const FEATURES: usize = 64;
const HEADS: usize = 4;

pub(super) fn transformer(input: &InputSpec, classes: usize) -> Result<Graph, NetworkError> {
    let InputSpec::Tokens { .. } = input else {
        return Err(NetworkError::Input {
            network: "text-transformer",
            takes: "tokens",
            found: input.clone(),
        });
    };
    let mut b = GraphBuilder::new("text-transformer", input.clone()).style(InitStyle::Gpt);
    let norm = Op::LayerNorm { eps: 1e-5 };
    let features = FEATURES;
    let mut x = b.add(
        "transformer.wte",
        Op::Embedding { features },
        &[GraphValue::Input],
    );
    x = b.add("transformer.wpe", Op::Position, &[x]);
    for i in 0..BLOCKS {
        let name = |what: &str| format!("transformer.h.{i}.{what}");
        let y = b.add(name("ln_1"), norm.clone(), &[x]);
        let y = b.linear(name("attn.c_attn"), y, 3 * features);
        let attention = Op::Attention {
            heads: HEADS,
            causal: true,
        };
        let y = b.add(name("attn.core"), attention, &[y]);
        let y = b.linear(name("attn.c_proj"), y, features);
        x = b.add(name("add_1"), Op::Add, &[x, y]);
        let y = b.add(name("ln_2"), norm.clone(), &[x]);
        let y = b.linear(name("mlp.c_fc"), y, 4 * features);
        let y = b.add(name("mlp.act"), Op::Gelu, &[y]);
        let y = b.linear(name("mlp.c_proj"), y, features);
        x = b.add(name("add_2"), Op::Add, &[x, y]);
    }
    x = b.add("transformer.ln_f", norm, &[x]);
    let head = Op::Linear {
        outputs: classes,
        bias: false,
    };
    b.add("lm_head", head, &[x]);
    Ok(b.finish()?)
}
