import { CASE_CHANGED, COPIED, MATCHED, SEARCHED, SPLIT, type TemplateBudget } from './template-budget.ts'
import {
  comparisons,
  isList,
  isText,
  itemCount,
  jsonLength,
  type TemplateValue,
  textLength
} from './template-values.ts'

/** Evaluated arguments of a filter or method. */
export interface Arguments {
  readonly positional: readonly TemplateValue[]
  readonly keywords: ReadonlyMap<string, TemplateValue>
}

/** Pays for an operation on `operand` before it runs. Throws if the operation exceeds the budget. */
export type Cost = (budget: TemplateBudget, operand: TemplateValue, args: Arguments) => void

const free: Cost = () => undefined

const perCharacter =
  (charactersPerStep: number): Cost =>
  (budget, operand) => {
    if (isText(operand)) budget.spend(operand.value.length / charactersPerStep)
  }

/** Operations that create an item of a list for each item of the operand. */
const perItem: Cost = (budget, operand) => budget.spend(itemCount(operand) / 4)

const sort: Cost = (budget, operand, { positional, keywords }) => {
  const path = positional[2] ?? keywords.get('attribute')
  const pathLength = isText(path) ? path.value.length : 0
  const count = comparisons(itemCount(operand))
  // Each comparison may change the case of two whole texts.
  const characters = (jsonLength(operand, budget) * Math.log2(itemCount(operand) + 1)) / CASE_CHANGED
  budget.spend(count * (1 + pathLength / MATCHED) + 2 * characters)
}

const selectByAttribute: Cost = (budget, operand, { positional }) => {
  const [, test, value] = positional
  perItem(budget, operand, NO_ARGUMENTS)
  if (isText(value)) budget.spend((itemCount(operand) * value.value.length) / SEARCHED)
  const changesCase = isText(test) && (test.value === 'lower' || test.value === 'upper')
  if (changesCase) budget.spend(jsonLength(operand, budget) / CASE_CHANGED)
}

const map: Cost = (budget, operand, { keywords }) => {
  const path = keywords.get('attribute')
  budget.spend(itemCount(operand) * (0.25 + (isText(path) ? path.value.length : 0) / MATCHED))
}

const join: Cost = (budget, operand, { positional, keywords }) => {
  const separator = positional[0] ?? keywords.get('separator')
  const between = isText(separator) ? separator.value.length : 0
  if (isText(operand)) {
    budget.spend(operand.value.length / SPLIT)
    budget.text(operand.value.length * (1 + between))
  } else if (isList(operand)) {
    let length = operand.value.length * between
    for (const item of operand.value) {
      budget.spend(0.25)
      length += textLength(item, budget)
      budget.checkLength(length)
    }
    budget.text(length)
  }
}

const string: Cost = (budget, operand) => {
  if (!isText(operand)) budget.text(jsonLength(operand, budget))
}

const toJson: Cost = (budget, operand, { keywords }) => {
  const indent = keywords.get('indent')?.value
  const separators = keywords.get('separators')
  const [item, key] = isList(separators) ? separators.value : []
  const format = {
    indent: typeof indent === 'number' ? indent : 0,
    itemSeparator: isText(item) ? item.value.length : 2,
    keySeparator: isText(key) ? key.value.length : 2,
    ascii: keywords.get('ensure_ascii')?.value === true,
    sorted: keywords.get('sort_keys')?.value === true
  }
  budget.text(jsonLength(operand, budget, format))
}

const indent: Cost = (budget, operand, { positional, keywords }) => {
  if (!isText(operand)) return
  const width = (positional[0] ?? keywords.get('width'))?.value
  const lines = countOf(budget, operand.value, '\n') + 1
  budget.text(operand.value.length + lines * (typeof width === 'number' ? Math.max(width, 0) : 4))
}

const replace: Cost = (budget, operand, { positional }) => {
  const [old, replacement] = positional
  if (!isText(operand) || !isText(old) || !isText(replacement)) return
  const { length } = operand.value
  // The package compiles a regular expression, which may compare the whole pattern at every position.
  budget.spend(old.value.length + length / MATCHED / 2 + (length * Math.min(old.value.length, length)) / 1024)
  const matches = countOf(budget, operand.value, old.value)
  budget.text(length + matches * replacement.value.length)
}

const split: Cost = (budget, operand, { positional }) => {
  if (!isText(operand)) return
  const [separator] = positional
  if (!isText(separator)) budget.spend(operand.value.length / 8)
  else if (separator.value !== '') countOf(budget, operand.value, separator.value)
}

const beginsOrEnds: Cost = (budget, operand, { positional: [pattern] }) => {
  if (!isText(operand)) return
  const patterns = isList(pattern) ? pattern.value : [pattern]
  for (const each of patterns) {
    if (isText(each)) budget.spend(0.25 + Math.min(each.value.length, operand.value.length) / COPIED)
  }
}

const get: Cost = (budget, _, { positional: [key] }) => {
  if (isText(key)) budget.spend(key.value.length / COPIED)
}

/** Costs of the filters, and of the methods of texts and mappings. Operations without a cost are refused. */
export const costs: ReadonlyMap<string, Cost> = new Map<string, Cost>([
  ...['safe', 'first', 'last', 'length', 'abs', 'bool', 'default'].map(name => [name, free] as const),
  ...['list', 'reverse', 'items', 'keys', 'values'].map(name => [name, perItem] as const),
  ...['upper', 'lower'].map(name => [name, perCharacter(CASE_CHANGED)] as const),
  ...['capitalize', 'trim', 'strip', 'lstrip', 'rstrip'].map(name => [name, perCharacter(COPIED)] as const),
  ...['int', 'float'].map(name => [name, perCharacter(COPIED / 4)] as const),
  ...['sort', 'dictsort'].map(name => [name, sort] as const),
  ...['selectattr', 'rejectattr'].map(name => [name, selectByAttribute] as const),
  ...['startswith', 'endswith'].map(name => [name, beginsOrEnds] as const),
  ['title', perCharacter(MATCHED)],
  [
    'unique',
    (budget, operand) => {
      for (const item of isList(operand) ? operand.value : []) {
        budget.spend(0.25 + (isText(item) ? item.value.length / COPIED : 0))
      }
    }
  ],
  ['map', map],
  ['join', join],
  ['string', string],
  ['tojson', toJson],
  ['indent', indent],
  ['replace', replace],
  ['split', split],
  ['get', get]
])

export const NO_ARGUMENTS: Arguments = { positional: [], keywords: new Map() }

/** Pays for finding `pattern` in `text` once; V8 compares at most 250 characters of a pattern for one step forward. */
export function paySearch(budget: TemplateBudget, text: string, pattern: string): void {
  budget.spend((text.length / SEARCHED) * (1 + Math.min(pattern.length, text.length) / 250))
}

/** Pays for `==` and `!=`, which convert a list to a text to compare it with a text, number or boolean. */
export function payEquality(budget: TemplateBudget, left: TemplateValue, right: TemplateValue): void {
  if (isText(left) && isText(right)) {
    if (left.value.length === right.value.length) budget.spend(left.value.length / COPIED)
  } else if (isList(left) && isPrimitive(right)) budget.text(jsonLength(left, budget))
  else if (isList(right) && isPrimitive(left)) budget.text(jsonLength(right, budget))
}

function isPrimitive({ value }: TemplateValue): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** Counts how often a text contains a pattern, and pays for each. */
function countOf(budget: TemplateBudget, text: string, pattern: string): number {
  if (pattern === '') {
    budget.spend((text.length + 1) / 2)
    return text.length + 1
  }
  paySearch(budget, text, pattern)
  let count = 0
  for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + pattern.length)) {
    budget.spend(0.5)
    count++
  }
  return count
}
