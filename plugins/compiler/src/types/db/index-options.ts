import type { Index } from '../../syntax/ast.ts'
import { bare, entryKey, entryValue } from '../../syntax/entries.ts'
import type { Span } from '../../syntax/node.ts'

/** Possible values of the option after `with`, by index kind. Each kind has one option; that of `btree` is a bool. */
export const INDEX_OPTIONS: Readonly<
  Record<Index['variant'], { readonly name: string; readonly values: readonly string[] }>
> = {
  btree: { name: 'unique', values: ['true', 'false'] },
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
    if (key !== known.name) return { at: entry.key, key, value: null, problem: 'unknown' }
    const text = value.kind === (variant === 'btree' ? 'Bool' : 'String') ? String(value.value) : ''
    if (!known.values.includes(text)) return { at: value, key, value: null, problem: 'value' }
    return { at: value, key, value: text, problem: null }
  })
}

/** Returns an option value as the program writes it. */
export function optionText(variant: Index['variant'], value: string): string {
  return variant === 'btree' ? value : `"${value}"`
}
