import type { LoadedModel } from '@svc/contracts'
import { beyondModel } from './unsupported-fields.ts'

/** Special tokens of each model family: prefix, suffix and middle. */
const KNOWN = [
  ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'],
  ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'],
  ['<\uff5cfim\u2581begin\uff5c>', '<\uff5cfim\u2581hole\uff5c>', '<\uff5cfim\u2581end\uff5c>']
] as const

/** True if the model's vocabulary has the tokens for fill-in-the-middle. */
export function fillsInTheMiddle(model: LoadedModel): boolean {
  return markersOf(model) !== undefined
}

/**
 * Returns a prompt for the text between a prefix and a suffix. Special tokens in both are escaped.
 * Throws `MSV_UNSUPPORTED` if the model cannot fill in the middle.
 */
export function fillInTheMiddle(model: LoadedModel, name: string, prefix: string, suffix: string): readonly number[] {
  const markers = markersOf(model)
  if (markers === undefined) throw beyondModel('suffix', name, 'insert')
  const [before, behind, gap] = markers
  const plain = (text: string) => model.tokenize(text, { special: false })
  return [before, ...plain(prefix), behind, ...plain(suffix), gap]
}

function markersOf(model: LoadedModel): readonly [number, number, number] | undefined {
  for (const names of KNOWN) {
    const ids = names.map(name => model.tokenize(name, { special: true }))
    if (ids.every(each => each.length === 1)) return ids.flat() as [number, number, number]
  }
  return undefined
}
