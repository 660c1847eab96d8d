import type { LoadedModel } from '@svc/contracts'
import { beyondModel } from './unsupported-fields.ts'

/** Special tokens that say what is before a gap, what behind it, and that the gap is to be filled. */
const KNOWN = [
  ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'],
  ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'],
  ['<\uff5cfim\u2581begin\uff5c>', '<\uff5cfim\u2581hole\uff5c>', '<\uff5cfim\u2581end\uff5c>']
] as const

/** Whether the model's vocabulary has the tokens for it. */
export function fillsInTheMiddle(model: LoadedModel): boolean {
  return markersOf(model) !== undefined
}

/**
 * A prompt for the text between a prefix and a suffix, in which neither can smuggle in a special token.
 * Throws `MSV_UNSUPPORTED` for a model that cannot do that.
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
