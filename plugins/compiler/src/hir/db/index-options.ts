import type { Index } from '../../syntax/ast.ts'
import type { Span } from '../../syntax/node.ts'
import { bare, entryKey, entryValue } from './predicate.ts'

/** Possible values of the option after `with`, by index kind. Each kind has one option. */
export const INDEX_OPTIONS: Readonly<
  Record<Index['variant'], { readonly name: string; readonly values: readonly string[] } | null>
> = {
  btree: null,
  search: { name: 'tokenize', values: ['unicode61', 'porter', 'trigram'] },
  vector: { name: 'metric', values: ['cosine', 'l2'] }
}

export interface IndexOption {
  readonly at: Span
  readonly key: string
  readonly value: string | null
  readonly problem: 'not a record' | 'unknown' | 'value' | null
}

/** Returns the options of an index, each with its problem or null. */
export function indexOptions({ variant, options }: Index): IndexOption[] {
  if (options === null) return []
  const bareOptions = bare(options)
  if (bareOptions.kind !== 'Object') return [{ at: bareOptions, key: '', value: null, problem: 'not a record' }]
  const known = INDEX_OPTIONS[variant]
  return bareOptions.entries.map((entry): IndexOption => {
    const key = entryKey(entry)
    const value = bare(entryValue(entry))
    if (key !== known?.name) return { at: entry.key, key, value: null, problem: 'unknown' }
    if (value.kind !== 'String' || !known.values.includes(value.value))
      return { at: value, key, value: null, problem: 'value' }
    return { at: value, key, value: value.value, problem: null }
  })
}
