import { COPIED, type TemplateBudget } from './template-budget.ts'

/** Value of the package at run time. Declared here, because this compiler cannot resolve the imports of its types. */
export interface TemplateValue {
  readonly type: string
  readonly value: unknown
}

export interface TextValue extends TemplateValue {
  readonly value: string
}
export interface ListValue extends TemplateValue {
  readonly value: readonly TemplateValue[]
}
export interface MapValue extends TemplateValue {
  readonly value: ReadonlyMap<string, TemplateValue>
}

export function isText(value: TemplateValue | undefined): value is TextValue {
  return typeof value?.value === 'string'
}

export function isList(value: TemplateValue | undefined): value is ListValue {
  return Array.isArray(value?.value)
}

export function isMap(value: TemplateValue | undefined): value is MapValue {
  return value?.value instanceof Map
}

/** Returns the number of items of a list or of entries of a mapping; else 0. */
export function itemCount(value: TemplateValue | undefined): number {
  return isList(value) ? value.value.length : isMap(value) ? value.value.size : 0
}

/** Options of the filter `tojson`. */
export interface JsonFormat {
  readonly indent: number
  readonly itemSeparator: number
  readonly keySeparator: number
  readonly ascii: boolean
  readonly sorted: boolean
}

const PLAIN: JsonFormat = { indent: 0, itemSeparator: 2, keySeparator: 2, ascii: false, sorted: false }
/** Longest texts of numbers, and of the functions of the package, in characters. */
const NUMBER_LENGTH = 32
const FUNCTION_LENGTH = 4096

/**
 * Returns the length of a value as JSON, or slightly more. Pays for the conversion while it counts, so that a value that
 * contains itself, or one list many times, exceeds the budget.
 */
export function jsonLength(value: TemplateValue, budget: TemplateBudget, format = PLAIN, depth = 0): number {
  budget.spend(0.5)
  if (isText(value)) return textJsonLength(value.value, budget, format.ascii)
  const indented = Math.max(format.indent, 0) * (depth + 1)
  let length = 2 + 2 * indented
  if (isList(value)) {
    for (const item of value.value) {
      length += jsonLength(item, budget, format, depth + 1) + format.itemSeparator + indented + 1
      budget.checkLength(length)
    }
    return length
  }
  if (!isMap(value)) return value.type === 'FunctionValue' ? FUNCTION_LENGTH : NUMBER_LENGTH
  if (format.sorted) budget.spend(2 * comparisons(value.value.size))
  for (const [key, item] of value.value) {
    length += textJsonLength(key, budget, format.ascii) + jsonLength(item, budget, format, depth + 1)
    length += format.keySeparator + format.itemSeparator + indented + 1
    budget.checkLength(length)
  }
  return length
}

/** Returns the length of a value in a concatenation: texts are unquoted. Pays like {@link jsonLength}. */
export function textLength(value: TemplateValue, budget: TemplateBudget): number {
  return isText(value) ? value.value.length : jsonLength(value, budget)
}

/** Estimates how often sorting compares two of `count` items. */
export function comparisons(count: number): number {
  return count * Math.log2(count + 1)
}

function textJsonLength(text: string, budget: TemplateBudget, ascii: boolean): number {
  budget.checkLength(text.length)
  budget.spend(text.length / (ascii ? COPIED / 16 : COPIED / 2))
  let length = text.length + 2
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || (code >= 0x7f && (ascii || (code >= 0xd800 && code < 0xe000)))) length += 5
    else if (code === 0x22 || code === 0x5c) length += 1
  }
  return length
}
