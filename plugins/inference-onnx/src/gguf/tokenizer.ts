import { inferenceErrors } from '../errors.ts'
import type { Metadata, MetadataValue } from './metadata.ts'
import { MetadataFields } from './metadata-fields.ts'
import { Pauses, sortWithPauses } from './pauses.ts'
import { preTokenizers } from './pre-tokenizers.ts'

/** Tokenizer in the form of `tokenizer.json` and `tokenizer_config.json`. */
export interface GgufTokenizer {
  readonly definition: Record<string, unknown>
  readonly configuration: Record<string, unknown>
  readonly endTokens: readonly number[]
  readonly vocabularySize: number
}

const PREFIX = 'tokenizer.ggml.'
const MARKER = '▁'
/** Values of `tokenizer.ggml.token_type`. */
const NORMAL = 1
const CONTROL = 3
const USER_DEFINED = 4
/** The longest tokens of public vocabularies are runs of 128 spaces. Each split of a token is a possible merge. */
const MAX_PIECE_CHARACTERS = 512
/** Twice the tokens of the largest public vocabularies, and twice their merges. */
const MAX_TOKENS = 2 ** 19
const MAX_MERGES = 2 ** 20
/** Characters that are looked up in a microsecond. */
const CHARACTERS_PER_UNIT = 64

interface Vocabulary {
  readonly fields: MetadataFields
  readonly tokens: readonly string[]
  readonly ids: ReadonlyMap<string, number>
  readonly types: readonly number[]
  readonly pauses: Pauses
}

/**
 * Returns the tokenizer that metadata describes: byte-level BPE (`gpt2`) or SentencePiece BPE (`llama`).
 *
 * Throws `INF_TOKENIZER_UNSUPPORTED` for another kind, and `INF_RUN_DIR_MALFORMED` for missing or inconsistent parts;
 * both name the key.
 */
export async function ggufTokenizer(file: string, metadata: Metadata): Promise<GgufTokenizer> {
  const fields = new MetadataFields(file, metadata, PREFIX)
  const model = fields.text('model')
  if (model !== 'gpt2' && model !== 'llama') throw unsupported(file, 'model', model, 'gpt2, llama')
  const vocabulary = await readVocabulary(fields)
  const { definition, addsBeginning } = await (model === 'gpt2' ? byteLevelBpe : sentencePieceBpe)(vocabulary)
  const token = (name: string) => vocabulary.tokens[tokenId(vocabulary, name) ?? -1]
  const [bos, eos, unk, pad] = ['bos', 'eos', 'unknown', 'padding'].map(name => token(`${name}_token_id`))
  return {
    definition: { version: '1.0', added_tokens: addedTokens(vocabulary), post_processor: null, ...definition },
    configuration: {
      ...named({ bos_token: bos, eos_token: eos, unk_token: unk, pad_token: pad }),
      add_bos_token: fields.flag('add_bos_token') ?? addsBeginning,
      ...named({ chat_template: chatTemplates(file, metadata) })
    },
    endTokens: ['eos', 'eot', 'eom'].flatMap(name => tokenId(vocabulary, `${name}_token_id`) ?? []),
    vocabularySize: vocabulary.tokens.length
  }
}

async function readVocabulary(fields: MetadataFields): Promise<Vocabulary> {
  const pauses = new Pauses()
  const tokens = texts(fields, 'tokens')
  if (tokens === undefined || tokens.length === 0) throw fields.refuse('tokens', 'it is missing or empty')
  if (tokens.length > MAX_TOKENS)
    throw fields.refuse('tokens', `it has ${tokens.length} tokens, more than ${MAX_TOKENS}`)
  const ids = new Map<string, number>()
  for (const [id, token] of tokens.entries()) {
    if (ids.has(token))
      throw fields.refuse('tokens', `tokens ${ids.get(token)} and ${id} are both ${JSON.stringify(token)}`)
    ids.set(token, id)
    if (pauses.due()) await pauses.take()
  }
  const types = numbers(fields, 'token_type', tokens.length) ?? Array<number>(tokens.length).fill(NORMAL)
  return { fields, tokens, ids, types, pauses }
}

async function byteLevelBpe({ fields, ids, pauses }: Vocabulary) {
  const name = fields.text('pre') ?? 'default'
  const pre = Object.hasOwn(preTokenizers, name) ? preTokenizers[name] : undefined
  if (pre === undefined) throw unsupported(fields.file, 'pre', name, Object.keys(preTokenizers).join(', '))
  const merges = texts(fields, 'merges')
  if (merges === undefined) throw fields.refuse('merges', 'it is missing')
  if (merges.length > MAX_MERGES)
    throw fields.refuse('merges', `it has ${merges.length} merges, more than ${MAX_MERGES}`)
  const pairs: [string, string][] = []
  for (const [index, merge] of merges.entries()) {
    // Byte-level tokens contain no blank, but the first character of a merge may be one.
    const blank = merge.indexOf(' ', 1)
    if (blank === -1) throw fields.refuse('merges', `merge ${index}, ${JSON.stringify(merge)}, is not a pair`)
    pairs.push([merge.slice(0, blank), merge.slice(blank + 1)])
    if (pauses.due()) await pauses.take()
  }
  return {
    addsBeginning: pre.addsBeginning,
    definition: {
      normalizer: pre.normalizer,
      pre_tokenizer: pre.preTokenizer,
      decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: {
        type: 'BPE',
        unk_token: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: pre.ignoreMerges,
        vocab: await asObject(ids, pauses),
        merges: pairs
      }
    }
  }
}

/**
 * Returns SentencePiece BPE. Files contain scores instead of merges: every split of a token into two tokens is a merge,
 * in the order of the scores of the whole.
 */
async function sentencePieceBpe(vocabulary: Vocabulary) {
  const { fields, tokens, ids, pauses } = vocabulary
  const scores = numbers(fields, 'scores', tokens.length)
  if (scores === undefined) throw fields.refuse('scores', 'it is missing')
  const prefix = fields.flag('add_space_prefix') ?? true
  const unknown = tokens[tokenId(vocabulary, 'unknown_token_id') ?? 0]
  const replace = { type: 'Replace', pattern: { String: ' ' }, content: MARKER }
  return {
    addsBeginning: true,
    definition: {
      normalizer: prefix ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: MARKER }, replace] } : replace,
      pre_tokenizer: null,
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: MARKER }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : [])
        ]
      },
      model: {
        type: 'BPE',
        unk_token: unknown,
        fuse_unk: true,
        byte_fallback: true,
        ignore_merges: false,
        vocab: await asObject(ids, pauses),
        merges: await mergesOf(vocabulary, scores)
      }
    }
  }
}

/** Like `Object.fromEntries`, with pauses. */
async function asObject(ids: ReadonlyMap<string, number>, pauses: Pauses): Promise<Record<string, number>> {
  // Without a prototype, `__proto__` is a key like any other.
  const object: Record<string, number> = Object.create(null)
  for (const [token, id] of ids) {
    object[token] = id
    if (pauses.due()) await pauses.take()
  }
  return object
}

interface Merge {
  readonly left: number
  readonly right: number
  readonly score: number
}

async function mergesOf({ fields, tokens, ids, types, pauses }: Vocabulary, scores: readonly number[]) {
  const merges: Merge[] = []
  const normalId = (text: string) => {
    const id = ids.get(text)
    return id !== undefined && types[id] === NORMAL ? id : undefined
  }
  for (const [id, token] of tokens.entries()) {
    if (types[id] !== NORMAL) continue
    if (token.length > MAX_PIECE_CHARACTERS) {
      throw fields.refuse('tokens', `token ${id} has ${token.length} characters, more than ${MAX_PIECE_CHARACTERS}`)
    }
    for (let split = 1; split < token.length; split++) {
      if (isLowSurrogate(token.charCodeAt(split))) continue
      const left = normalId(token.slice(0, split))
      const right = left === undefined ? undefined : normalId(token.slice(split))
      if (left !== undefined && right !== undefined) merges.push({ left, right, score: scores[id] as number })
    }
    if (merges.length > MAX_MERGES) throw fields.refuse('tokens', `they have more than ${MAX_MERGES} merges`)
    // Each split of the token is looked up as a whole.
    if (pauses.due(1 + token.length + token.length ** 2 / CHARACTERS_PER_UNIT)) await pauses.take()
  }
  const sorted = await sortWithPauses(
    merges,
    (a, b) => b.score - a.score || a.left - b.left || a.right - b.right,
    pauses
  )
  return sorted.map(({ left, right }) => [tokens[left], tokens[right]])
}

/** True for the second half of a character outside the basic plane. */
function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

function addedTokens({ tokens, types }: Vocabulary) {
  return tokens.flatMap((content, id) => {
    const special = types[id] === CONTROL
    if (!special && types[id] !== USER_DEFINED) return []
    return [{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special }]
  })
}

function tokenId({ fields, tokens }: Vocabulary, name: string): number | undefined {
  const id = fields.number(name)
  // Old converters write -1 or the largest number of 32 bits for a token that does not exist.
  if (id === undefined || id === -1 || id === 0xffffffff) return undefined
  if (Number.isInteger(id) && id >= 0 && id < tokens.length) return id
  throw fields.refuse(name, `${id} is not one of the ${tokens.length} tokens`)
}

/** Returns the chat template, or a list of them if the file has several. */
function chatTemplates(file: string, metadata: Metadata): MetadataValue | object | undefined {
  const fields = new MetadataFields(file, metadata)
  const main = fields.text('tokenizer.chat_template')
  const tools = fields.text('tokenizer.chat_template.tool_use')
  if (main === undefined || tools === undefined) return main
  return [
    { name: 'default', template: main },
    { name: 'tool_use', template: tools }
  ]
}

function texts(fields: MetadataFields, name: string): readonly string[] | undefined {
  const list = fields.list(name)
  if (list === undefined || list.every(value => typeof value === 'string')) return list as readonly string[] | undefined
  throw fields.refuse(name, 'it is not a list of texts')
}

function numbers(fields: MetadataFields, name: string, length: number): readonly number[] | undefined {
  const list = fields.list(name)
  if (list === undefined) return undefined
  if (list.length !== length) throw fields.refuse(name, `it has ${list.length} values for ${length} tokens`)
  if (list.every(value => typeof value === 'number' && Number.isFinite(value))) return list as readonly number[]
  throw fields.refuse(name, 'it is not a list of finite numbers')
}

/** Returns the entries that have a value. */
function named(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

function unsupported(file: string, name: string, value: unknown, supported: string) {
  const key = PREFIX + name
  return inferenceErrors.create(
    'INF_TOKENIZER_UNSUPPORTED',
    `${file}: ${key} ${JSON.stringify(value ?? null)} is not supported; supported: ${supported}`,
    { at: { file, path: key }, data: { field: key, value, supported } }
  )
}
