import type { GenerateEvent, LoadedModel } from '@svc/contracts'

type TextEvent = Extract<GenerateEvent, { type: 'text' }>

/**
 * Restores marks in the text of an answer. The engine omits marks that the tokenizer defines as special tokens.
 * Marks that are ordinary text, or more than one token, need no change.
 */
export class SpecialMarks {
  readonly #model: LoadedModel
  readonly #marks = new Map<number, string>()

  constructor(model: LoadedModel, marks: readonly string[]) {
    this.#model = model
    for (const mark of marks) {
      const [token, ...more] = model.tokenize(mark, { special: true })
      if (token !== undefined && more.length === 0) this.#marks.set(token, mark)
    }
  }

  restore({ text, tokens }: TextEvent): string {
    const at = tokens.findIndex(token => this.#marks.has(token))
    if (at < 0) return text
    const mark = this.#marks.get(tokens[at] as number) as string
    if (text.includes(mark)) return text
    const behind = this.#model.detokenize(tokens.slice(at + 1)).length
    const position = Math.max(0, text.length - behind)
    return text.slice(0, position) + mark + text.slice(position)
  }
}
