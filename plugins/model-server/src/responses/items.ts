import { invalid } from '../body-reader.ts'

/** Item of a response's input or output, as JSON. */
export type Item = Readonly<Record<string, unknown>> & { readonly type: string; readonly id?: string }

const ID = /^[a-z]{2,4}_([0-9a-f]{48})_i?\d+$/
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco'
}

/** Returns the id of an item. It contains the id of its response, so that references need no index of items. */
export function itemId(responseId: string, type: string, index: number, part: 'input' | 'output'): string {
  return `${PREFIXES[type] ?? 'item'}_${keyOf(responseId)}_${part === 'input' ? 'i' : ''}${index}`
}

/** Returns the id of the response that contains the item with an id; null if the id was not made by {@link itemId}. */
export function responseOfItem(id: string): string | null {
  const key = ID.exec(id)?.[1]
  return key === undefined ? null : `resp_${key}`
}

function keyOf(responseId: string): string {
  return responseId.slice('resp_'.length)
}

/** Returns the ids of `item_reference` items. Throws `MSV_REQUEST_INVALID` if there are too many. */
export function referencesIn(input: readonly unknown[]): readonly string[] {
  const ids = new Set<string>()
  for (const [at, each] of input.entries()) {
    const { type, id } = each as { type?: unknown; id?: unknown }
    if (type !== 'item_reference') continue
    if (typeof id !== 'string') throw invalid(`'input[${at}].id' must be the id of an item`, `input[${at}].id`)
    ids.add(id)
    if (ids.size > MAX_REFERENCES) {
      throw invalid(`'input' must have at most ${MAX_REFERENCES} items of type 'item_reference'`, 'input')
    }
  }
  return [...ids]
}

const MAX_REFERENCES = 1_000
