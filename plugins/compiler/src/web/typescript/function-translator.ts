import type { Doc } from '../../doc/doc.ts'
import type { Param } from '../../syntax/ast.ts'
import type { Expression, For, Lambda } from '../../syntax/ast-expressions.ts'
import type { Pattern } from '../../syntax/ast-statements.ts'
import { arrow, code, enclosed, Level, operand, stable, type TypeScriptCode } from '../../typescript/code.ts'
import { join, type ValueType } from '../value-types/type.ts'
import { leaves, needsStatements } from './needs-statements.ts'
import { type FunctionFrame, Translator } from './translator.ts'
import { isGeneric, isPlain, itemOf } from './value-types.ts'

/** Use of an expression's value: returned, assigned or discarded. */
export type Sink =
  | { readonly kind: 'drop' }
  | { readonly kind: 'return' }
  | { readonly kind: 'assign'; readonly to: string }

/** Translates lambdas, and loops whose bodies become lambdas. */
export abstract class FunctionTranslator extends Translator {
  /** Writes an expression as statements. */
  abstract into(expression: Expression, sink: Sink): void
  /** Returns the statements of a function with this body. */
  abstract functionBody(body: Expression, frame: FunctionFrame, sink: Sink): Doc[]
  /** Declares the names of a pattern. Returns the pattern as an assignment target. */
  protected abstract target(pattern: Pattern, type: ValueType): Doc

  /** Translates `for` as an expression: the list of its body's values. */
  protected loop(node: For): TypeScriptCode {
    if (leaves(node.body) || this.hasToWait(node.body)) {
      const name = this.scope.fresh('items')
      const item = this.file.valueType(this.typeOf(node.body)) ?? 'any'
      this.out.push(`const ${name}: ${/[ |]/.test(item) ? `(${item})` : item}[] = []`)
      this.eachStatement(node, name)
      return stable(name)
    }
    return this.mapped(node, position => this.item(node, position))
  }

  /** Returns the value of a loop's body. `position` returns the name of the item's index. */
  protected item({ body }: For, _position: () => string): TypeScriptCode {
    return this.expression(body)
  }

  /** Translates `for` as a statement. `collect` names the list that receives the body's values. */
  protected abstract eachStatement(node: For, collect: string | null): void

  /** Translates `for` as a call of `map`. `item` returns the value for each item. */
  protected mapped(
    { binding, index, iterable }: For,
    item: (position: () => string) => TypeScriptCode
  ): TypeScriptCode {
    const over = this.expression(iterable)
    const type = this.typeOf(iterable)
    const { scope } = this
    this.scope = scope.inner()
    const target = this.target(
      binding,
      isGeneric(type, 'List', 'Set') || isPlain(type, 'str') ? itemOf(type) : type.kind === 'any' ? type : pairOf(type)
    )
    let position = index === null ? null : this.scope.declare(index.text, { type: { kind: 'plain', name: 'int' } }).name
    const outer = this.out
    this.out = []
    const value = item(() => {
      position ??= this.scope.fresh('index')
      return position
    })
    const statements = this.out
    this.out = outer
    this.scope = scope
    const body = statements.length === 0 ? value : [...statements, ['return ', value.doc]]
    const head: Doc =
      position === null
        ? typeof target === 'string'
          ? target
          : ['(', target, ')']
        : ['(', target, ', ', position, ')']
    return code([operand(iterated(over, type), Level.postfix), '.map(', arrow(head, body).doc, ')'])
  }

  /** Translates a lambda. `argumentTypes` holds the types of parameters without an annotation. */
  lambda({ isCancellable, params, body, result }: Lambda, argumentTypes: readonly ValueType[]): TypeScriptCode {
    const isAsync = this.hasToWait(body)
    const { scope } = this
    this.scope = scope.inner()
    const list = this.params(params, argumentTypes)
    const declared = result === null ? null : this.program.reader.read(result)
    const type = declared ?? this.typeOf(body)
    const sink: Sink = isPlain(type, 'Unit') ? { kind: 'drop' } : { kind: 'return' }
    const frame: FunctionFrame = {
      ...this.frame,
      mayAwait: isAsync,
      isLater: this.frame.isLater || isAsync,
      isInLoop: false,
      isCancellable: isCancellable || this.frame.isCancellable === true,
      onFailure: declared === null && sink.kind === 'drop' ? 'throw' : 'return'
    }
    const head: Doc = [isAsync ? 'async ' : '', list]
    const made = needsStatements(body)
      ? arrow(head, this.functionBody(body, frame, sink))
      : this.inFrame(frame, () => arrow(head, this.#body(body)))
    this.scope = scope
    return made
  }

  #body(body: Expression): TypeScriptCode | readonly Doc[] {
    const statements = this.within(() => this.into(body, { kind: 'return' }))
    const [only] = statements
    if (statements.length === 1 && Array.isArray(only) && only[0] === 'return ')
      return code(only[1] as Doc, Level.choice)
    return statements
  }

  /** Returns parameters with their parentheses, and declares them in the current scope. */
  params(params: readonly Param[], argumentTypes: readonly ValueType[]): Doc {
    return enclosed(
      '(',
      params.map((param, index) => {
        const declared = this.program.reader.read(param.type)
        const type = declared.kind === 'any' ? (argumentTypes[index] ?? declared) : declared
        const value = param.value === null ? null : this.closed(param.value)
        const { name } = this.scope.declare(param.name.text, { type })
        // TypeScript infers the other types from the context.
        const annotation =
          param.type !== null ? `: ${this.file.type(param.type)}` : argumentTypes[index] === undefined ? ': any' : ''
        return [name, annotation, ...(value === null ? [] : [' = ', value.doc])]
      }),
      ')'
    )
  }
}

/** Converts a value to an iterable. */
export function iterated(over: TypeScriptCode, type: ValueType): TypeScriptCode {
  if (isPlain(type, 'str')) return code(['[...', over.doc, ']'])
  if (isGeneric(type, 'Map') || type.kind === 'record' || type.kind === 'row')
    return code(['Object.entries(', over.doc, ')'])
  return over
}

function pairOf(type: ValueType): ValueType {
  const fields = type.kind === 'record' ? [...type.fields.values()] : []
  const value = isGeneric(type, 'Map') ? itemOf(type) : fields.reduce(join, { kind: 'never' } as ValueType)
  return { kind: 'tuple', items: [{ kind: 'plain', name: 'str' }, value] }
}
