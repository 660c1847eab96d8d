/** How text is split before byte-level BPE, in the form of `tokenizer.json`. */
export interface PreTokenizer {
  readonly normalizer: Record<string, unknown> | null
  readonly preTokenizer: Record<string, unknown>
  /** True if words that are tokens as a whole are not built from merges. */
  readonly ignoreMerges: boolean
  /** True if texts begin with the begin-of-text token, unless metadata states otherwise. */
  readonly addsBeginning: boolean
}

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
const SPACES = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+'
const llama3 = `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${SPACES}`
const qwen2 = `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${SPACES}`
const qwen35 = `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${SPACES}`
const upper = '\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}'
const lower = '\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}'
const words = (suffix: string) =>
  `[^\\r\\n\\p{L}\\p{N}]?[${upper}]*[${lower}]+${suffix}|[^\\r\\n\\p{L}\\p{N}]?[${upper}]+[${lower}]*${suffix}`
const tekken = `${words('')}|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${SPACES}`
const gpt4o = `${words(`${CONTRACTIONS}?`)}|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${SPACES}`

const byteLevel = (regex: boolean) => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: regex
})

const plain = { normalizer: null, ignoreMerges: false, addsBeginning: false }

function split(regex: string): Pick<PreTokenizer, 'preTokenizer'> {
  const pattern = { type: 'Split', pattern: { Regex: regex }, behavior: 'Isolated', invert: false }
  return { preTokenizer: { type: 'Sequence', pretokenizers: [pattern, byteLevel(false)] } }
}

const gpt2: PreTokenizer = { ...plain, preTokenizer: byteLevel(true) }
const llamaBpe: PreTokenizer = { ...plain, ...split(llama3), ignoreMerges: true, addsBeginning: true }
const qwen: PreTokenizer = { ...plain, ...split(qwen2), normalizer: { type: 'NFC' } }

/** Pre-tokenizers by `tokenizer.ggml.pre`, with the names that llama.cpp treats as the same. */
export const preTokenizers: Readonly<Record<string, PreTokenizer>> = {
  'gpt-2': gpt2,
  'llama-bpe': llamaBpe,
  'llama-v3': llamaBpe,
  llama3: llamaBpe,
  falcon3: llamaBpe,
  dbrx: { ...plain, ...split(llama3) },
  qwen2: qwen,
  'deepseek-r1-qwen': qwen,
  qwen35: { ...qwen, ...split(qwen35) },
  tekken: { ...plain, ...split(tekken), ignoreMerges: true, addsBeginning: true },
  'gpt-4o': { ...plain, ...split(gpt4o) },
  smollm: {
    ...plain,
    preTokenizer: {
      type: 'Sequence',
      pretokenizers: [{ type: 'Digits', individual_digits: true }, byteLevel(true)]
    }
  }
}
