import { inferenceErrors } from '../errors.ts'
import type { EncodedText, Frame } from './encoder-tokens.ts'

/** Part of a template: one of the texts, or a token that the model adds. */
type Part = { readonly text: 0 | 1; readonly type: number } | { readonly token: number; readonly type: number }

/** Arrangement of two texts and the tokens that the model adds. */
export class PairTemplate {
  readonly #parts: readonly Part[]

  constructor(parts: readonly Part[]) {
    this.#parts = parts
  }

  /** Tokens that the model adds. */
  get tokens(): readonly number[] {
    return this.#parts.flatMap(part => ('token' in part ? [part.token] : []))
  }

  /** Number of tokens that the model adds. */
  get added(): number {
    return this.tokens.length
  }

  join(first: readonly number[], second: readonly number[]): EncodedText {
    const tokens: number[] = []
    const types: number[] = []
    for (const part of this.#parts) {
      const added = 'token' in part ? [part.token] : [first, second][part.text]
      for (const token of added ?? []) {
        tokens.push(token)
        types.push(part.type)
      }
    }
    return { tokens, types }
  }
}

interface Templates {
  readonly single: Frame
  readonly pair: PairTemplate | null
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads the templates of a tokenizer's post-processor. `idOf` returns the id of a token by its name.
 *
 * Throws `INF_TOKENIZER_UNSUPPORTED` for an unknown kind, and for a token that the tokenizer lacks.
 */
export function readTemplates(file: string, processor: unknown, idOf: (name: string) => number | undefined): Templates {
  const refuse = (path: string, reason: string) =>
    inferenceErrors.create('INF_TOKENIZER_UNSUPPORTED', `${file}: ${path}: ${reason}`, { at: { file, path } })
  if (processor === null || processor === undefined) return { single: { before: [], after: [] }, pair: null }
  const fields = processor as Fields
  const named = (entry: unknown, path: string): number => {
    const [name] = Array.isArray(entry) ? entry : []
    const id = typeof name === 'string' ? idOf(name) : undefined
    if (id === undefined) throw refuse(path, `the token ${JSON.stringify(name ?? null)} is not in the vocabulary`)
    return id
  }
  switch (fields.type) {
    case 'Sequence': {
      const list = (fields.processors ?? []) as unknown[]
      const others = list.filter(each => (each as Fields | null)?.type !== 'ByteLevel')
      if (others.length > 1) throw refuse('post_processor', 'more than one processor adds tokens')
      return readTemplates(file, others[0] ?? null, idOf)
    }
    case 'ByteLevel':
      return { single: { before: [], after: [] }, pair: null }
    case 'BertProcessing':
    case 'RobertaProcessing': {
      const [start, end] = [named(fields.cls, 'post_processor.cls'), named(fields.sep, 'post_processor.sep')]
      const isBert = fields.type === 'BertProcessing'
      const token = (id: number, type = 0): Part => ({ token: id, type })
      const second = isBert ? 1 : 0
      return {
        single: { before: [start], after: [end] },
        pair: new PairTemplate([
          token(start),
          { text: 0, type: 0 },
          token(end),
          ...(isBert ? [] : [token(end)]),
          { text: 1, type: second },
          token(end, second)
        ])
      }
    }
    case 'TemplateProcessing': {
      const special = (fields.special_tokens ?? {}) as Readonly<Record<string, Fields>>
      const parts = (list: unknown, path: string): Part[] =>
        (Array.isArray(list) ? (list as Fields[]) : []).flatMap((item): Part[] => {
          const { Sequence: sequence, SpecialToken: token } = (item ?? {}) as Readonly<Record<string, Fields | null>>
          const type = sequence?.type_id ?? token?.type_id ?? 0
          if (typeof type !== 'number' || !Number.isSafeInteger(type) || type < 0) {
            throw refuse(path, `type_id ${JSON.stringify(type)} is not a whole number of at least 0`)
          }
          if (sequence !== undefined && sequence !== null) {
            return [{ text: sequence.id === 'B' ? (1 as const) : (0 as const), type }]
          }
          const ids = special[String(token?.id)]?.ids
          if (!Array.isArray(ids) || !ids.every(id => Number.isSafeInteger(id) && id >= 0)) {
            throw refuse(path, `the token ${JSON.stringify(token?.id ?? null)} has no ids in special_tokens`)
          }
          return ids.map((id: number) => ({ token: id, type }))
        })
      const single = parts(fields.single, 'post_processor.single')
      const text = single.findIndex(part => 'text' in part)
      if (text === -1) throw refuse('post_processor.single', 'it does not contain the text')
      const tokens = (list: readonly Part[]) => list.flatMap(part => ('token' in part ? [part.token] : []))
      const pair = parts(fields.pair, 'post_processor.pair')
      const texts = pair.flatMap(part => ('text' in part ? [part.text] : []))
      return {
        single: { before: tokens(single.slice(0, text)), after: tokens(single.slice(text + 1)) },
        pair: texts.length === 2 && texts.includes(0) && texts.includes(1) ? new PairTemplate(pair) : null
      }
    }
    default:
      throw refuse('post_processor', `type ${JSON.stringify(fields.type ?? null)} is not supported`)
  }
}
