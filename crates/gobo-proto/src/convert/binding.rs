//! A binding and its message.

use gobo_types::Binding;

use crate::v1;

impl From<&Binding> for v1::Binding {
    fn from(binding: &Binding) -> Self {
        let Binding { eos, bos, pad, logits_width } = binding;
        Self { eos: eos.clone(), logits_width: *logits_width, bos: *bos, pad: *pad }
    }
}

impl From<v1::Binding> for Binding {
    fn from(binding: v1::Binding) -> Self {
        Self { bos: binding.bos, pad: binding.pad, ..Self::new(binding.eos, binding.logits_width) }
    }
}
