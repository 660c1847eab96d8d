import { Interpreter } from '@huggingface/jinja'
import { CASE_CHANGED, COPIED, SPLIT, type TemplateBudget } from './template-budget.ts'
import { type Arguments, costs, NO_ARGUMENTS, payEquality, paySearch } from './template-costs.ts'
import { isList, isMap, isText, itemCount, jsonLength, type TemplateValue } from './template-values.ts'

/** Node of the package's syntax tree. */
export interface SyntaxNode {
  readonly type: string
  readonly [field: string]: unknown
}

/** Node whose value is already known. */
interface Evaluated extends SyntaxNode {
  readonly type: 'Evaluated'
  readonly result: TemplateValue
}

interface Callable extends TemplateValue {
  readonly value: (args: TemplateValue[], scope: unknown) => TemplateValue
}

/** Interpreter class of the package. Declared here, because this compiler cannot resolve the imports of its types. */
declare class Evaluator {
  constructor(environment: unknown)
  evaluate(node: SyntaxNode | undefined, environment: unknown): TemplateValue
  run(program: unknown): TemplateValue
}
const BaseInterpreter = Interpreter as unknown as typeof Evaluator

/** Properties of the nodes of a template that the interpreter needs before it evaluates a node. */
export interface SyntaxAnalysis {
  /** Nodes whose values are printed. */
  readonly printed: ReadonlySet<unknown>
  /** Nodes whose values become arguments, one per item. */
  readonly spread: ReadonlySet<unknown>
  /** Nodes whose values become keys of a mapping. */
  readonly keys: ReadonlySet<unknown>
  /** Number of nodes of macros and call blocks, which the package walks at each definition. */
  readonly sizes: ReadonlyMap<unknown, number>
}

const MAX_PARAMETERS = 255

/** Analyses a syntax tree. Throws for a macro or call block with more than 255 parameters. */
export function analyseSyntax(program: unknown): SyntaxAnalysis {
  const [printed, spread, keys, sizes] = [new Set(), new Set(), new Set(), new Map<unknown, number>()]
  const visit = (value: unknown): number => {
    if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + visit(item), 0)
    if (value instanceof Map) {
      for (const key of value.keys()) keys.add(key)
      return visit([...value.keys()]) + visit([...value.values()])
    }
    if (!isNode(value)) return 0
    for (const body of [value.body, value.alternate, value.defaultBlock]) {
      if (Array.isArray(body)) for (const statement of body) printed.add(statement)
    }
    if (value.type === 'SpreadExpression' || value.type === 'KeywordSpreadExpression') spread.add(value.argument)
    let size = 1
    for (const child of Object.values(value)) size += visit(child)
    if (value.type === 'Macro' || value.type === 'CallStatement') {
      const parameters = value.type === 'Macro' ? value.args : value.callerArgs
      if (Array.isArray(parameters) && parameters.length > MAX_PARAMETERS) {
        throw new Error(`a macro has more than ${MAX_PARAMETERS} parameters`)
      }
      sizes.set(value, size)
    }
    return size
  }
  visit(program)
  return { printed, spread, keys, sizes }
}

/**
 * Interpreter of the package that pays for each operation from a budget, before the operation runs: no operation may
 * create a huge text first. It evaluates the operands, pays, and passes them to the package as evaluated nodes.
 */
export class MeteredInterpreter extends BaseInterpreter {
  readonly #budget: TemplateBudget
  readonly #analysis: SyntaxAnalysis
  /** Nesting of evaluations, an upper limit of the nesting of scopes. */
  #depth = 0

  constructor(environment: unknown, budget: TemplateBudget, analysis: SyntaxAnalysis) {
    super(environment)
    this.#budget = budget
    this.#analysis = analysis
  }

  override evaluate(node: SyntaxNode | undefined, environment: unknown): TemplateValue {
    if (node === undefined || node === null) return super.evaluate(node, environment)
    if (isEvaluated(node)) return node.result
    this.#budget.spend(1)
    this.#depth++
    try {
      const value = this.#evaluate(node, environment)
      this.#payUse(node, value)
      return value
    } finally {
      this.#depth--
    }
  }

  #evaluate(node: SyntaxNode, environment: unknown): TemplateValue {
    switch (node.type) {
      case 'Identifier':
        return this.#identifier(node, environment)
      case 'BinaryExpression':
        return this.#binary(node, environment)
      case 'FilterExpression':
        return this.#filter(this.evaluate(node.operand as SyntaxNode, environment), node.filter, environment)
      case 'FilterStatement': {
        const body = super.evaluate({ type: 'Program', body: node.body }, environment)
        return this.#filter(body, node.filter, environment)
      }
      case 'MemberExpression':
        return this.#member(node, environment)
      case 'TestExpression': {
        const operand = this.evaluate(node.operand as SyntaxNode, environment)
        const test = (node.test as SyntaxNode).value
        const changesCase = test === 'lower' || test === 'upper'
        if (changesCase && isText(operand)) this.#budget.spend(operand.value.length / CASE_CHANGED)
        return super.evaluate({ ...node, operand: evaluated(operand) }, environment)
      }
      case 'For':
        return this.#loop(node, environment)
      case 'Set':
        this.#budget.spend(width(node.assignee) / 8)
        return super.evaluate(node, environment)
      case 'Macro':
      case 'CallStatement':
        this.#budget.spend((this.#analysis.sizes.get(node) ?? 0) / 4)
        return super.evaluate(node, environment)
      case 'Break':
      case 'Continue':
        // The package throws an error, whose stack V8 records.
        this.#budget.spend(5)
        return super.evaluate(node, environment)
      default:
        return super.evaluate(node, environment)
    }
  }

  /** Pays for what happens to the value of a node. */
  #payUse(node: SyntaxNode, value: TemplateValue): void {
    if (isText(value)) {
      this.#budget.checkLength(value.value.length)
      if (this.#analysis.keys.has(node)) this.#budget.spend(value.value.length / COPIED)
    } else if (this.#analysis.spread.has(node)) this.#budget.spend(itemCount(value) / 4)
    else if (itemCount(value) > 0 && this.#analysis.printed.has(node)) {
      this.#budget.text(jsonLength(value, this.#budget))
    }
  }

  #identifier(node: SyntaxNode, environment: unknown): TemplateValue {
    this.#budget.spend(this.#depth / 16)
    const value = super.evaluate(node, environment)
    // The package throws and catches an error for an unknown name.
    if (value.value === undefined) this.#budget.spend(10)
    if (node.value !== 'namespace' || !isCallable(value)) return value
    return wrap(value, ({ positional, keywords }) => {
      this.#budget.spend(keywords.size / 4)
      for (const argument of positional) {
        this.#budget.spend(itemCount(argument) / 4)
        if (isList(argument)) this.#budget.text(jsonLength(argument, this.#budget))
      }
    })
  }

  #binary(node: SyntaxNode, environment: unknown): TemplateValue {
    const operator = (node.operator as SyntaxNode).value
    if (operator === 'and' || operator === 'or') return super.evaluate(node, environment)
    const left = this.evaluate(node.left as SyntaxNode, environment)
    const right = this.evaluate(node.right as SyntaxNode, environment)
    const budget = this.#budget
    if (operator === '==' || operator === '!=') payEquality(budget, left, right)
    else if (operator === '+' && isList(left) && isList(right)) {
      budget.spend((left.value.length + right.value.length) / 16)
    } else if (operator === '~' || operator === '+') {
      for (const side of [left, right]) if (isList(side)) budget.text(jsonLength(side, budget))
      if (isText(left) && isText(right)) budget.checkLength(left.value.length + right.value.length)
    } else if (isText(left) && isText(right)) paySearch(budget, right.value, left.value)
    else if (isText(left)) budget.spend(left.value.length / COPIED)
    // The package looks for the left value in a list, whatever the operator is.
    if (isList(right)) budget.spend(right.value.length * (1 / 32 + (isText(left) ? left.value.length / COPIED : 0)))
    return super.evaluate({ ...node, left: evaluated(left), right: evaluated(right) }, environment)
  }

  #filter(operand: TemplateValue, filter: unknown, environment: unknown): TemplateValue {
    const node = filter as SyntaxNode
    const name = (node.type === 'CallExpression' ? (node.callee as SyntaxNode) : node).value
    const cost = typeof name === 'string' ? costs.get(name) : undefined
    if (cost === undefined) throw new Error(`unknown filter '${name}'`)
    const expression = { type: 'FilterExpression', operand: evaluated(operand) }
    if (node.type !== 'CallExpression') {
      cost(this.#budget, operand, NO_ARGUMENTS)
      return super.evaluate({ ...expression, filter }, environment)
    }
    const { args, values } = this.#arguments(node.args as SyntaxNode[], environment)
    cost(this.#budget, operand, values)
    // The package accepts only literals for these filters.
    const literal = name === 'selectattr' || name === 'rejectattr'
    return super.evaluate({ ...expression, filter: literal ? filter : { ...node, args } }, environment)
  }

  /** Evaluates arguments in the package's order: keywords last. */
  #arguments(nodes: readonly SyntaxNode[], environment: unknown): { args: SyntaxNode[]; values: Arguments } {
    const positional: TemplateValue[] = []
    const keywords = new Map<string, TemplateValue>()
    const args: SyntaxNode[] = []
    for (const node of nodes) {
      if (node.type === 'KeywordArgumentExpression' || node.type === 'KeywordSpreadExpression') continue
      if (node.type === 'SpreadExpression') {
        const argument = this.evaluate(node.argument as SyntaxNode, environment)
        if (isList(argument)) for (const item of argument.value) positional.push(item)
        args.push({ ...node, argument: evaluated(argument) })
      } else {
        const value = this.evaluate(node, environment)
        positional.push(value)
        args.push(evaluated(value))
      }
    }
    for (const node of nodes) {
      if (node.type === 'KeywordArgumentExpression') {
        const value = this.evaluate(node.value as SyntaxNode, environment)
        keywords.set(`${(node.key as SyntaxNode).value}`, value)
        args.push({ ...node, value: evaluated(value) })
      } else if (node.type === 'KeywordSpreadExpression') {
        const argument = this.evaluate(node.argument as SyntaxNode, environment)
        if (isMap(argument)) for (const [key, value] of argument.value) keywords.set(key, value)
        args.push({ ...node, argument: evaluated(argument) })
      }
    }
    return { args, values: { positional, keywords } }
  }

  #member(node: SyntaxNode, environment: unknown): TemplateValue {
    const object = this.evaluate(node.object as SyntaxNode, environment)
    const member = { ...node, object: evaluated(object) }
    let property = node.property as SyntaxNode
    if (node.computed === true && property.type === 'SliceExpression') {
      if (isText(object)) this.#budget.spend(object.value.length / SPLIT)
      else this.#budget.spend(itemCount(object) / 4)
      return super.evaluate(member, environment)
    }
    let name: unknown = property.value
    if (node.computed === true) {
      const value = this.evaluate(property, environment)
      if (isText(value)) this.#budget.spend(value.value.length / COPIED)
      name = value.value
      property = evaluated(value)
    }
    // The package creates all methods of a text when one is read.
    if (isText(object) && typeof name === 'string') this.#budget.spend(4)
    const value = super.evaluate({ ...member, property }, environment)
    const own = isMap(object) && typeof name === 'string' && object.value.has(name)
    if (own || !isCallable(value)) return value
    const cost = costs.get(`${name}`)
    if (cost === undefined) throw new Error(`unknown method '${name}'`)
    return wrap(value, args => cost(this.#budget, object, args))
  }

  #loop(node: SyntaxNode, environment: unknown): TemplateValue {
    const iterable = node.iterable as SyntaxNode
    const selects = iterable.type === 'SelectExpression'
    const value = this.evaluate((selects ? iterable.lhs : iterable) as SyntaxNode, environment)
    this.#budget.spend(itemCount(value) * (4 + width(node.loopvar) / 8))
    const items = evaluated(value)
    return super.evaluate({ ...node, iterable: selects ? { ...iterable, lhs: items } : items }, environment)
  }
}

function evaluated(result: TemplateValue): Evaluated {
  return { type: 'Evaluated', result }
}

function isEvaluated(node: SyntaxNode): node is Evaluated {
  return node.type === 'Evaluated'
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}

function isCallable(value: TemplateValue): value is Callable {
  return typeof value.value === 'function'
}

/** Returns a function that pays before each call. */
function wrap(original: Callable, pay: (args: Arguments) => void): TemplateValue {
  const metered = (args: TemplateValue[], scope: unknown) => {
    const last = args.at(-1)
    const keywords = last?.type === 'KeywordArgumentsValue' && isMap(last) ? last.value : undefined
    const positional = keywords === undefined ? args : args.slice(0, -1)
    pay({ positional, keywords: keywords ?? NO_ARGUMENTS.keywords })
    return original.value(args, scope)
  }
  return new (original.constructor as new (value: unknown) => TemplateValue)(metered)
}

/** Returns the number of names that an assignment sets. */
function width(target: unknown): number {
  const names = (target as SyntaxNode | undefined)?.value
  return Array.isArray(names) ? names.length : 1
}
