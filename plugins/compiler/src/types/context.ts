import type { DiagnosticCode } from '../diagnostics/codes.ts'
import { type Diagnostic, type DiagnosticDetails, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Actor, Agent, Declaration, Field, Handler, Module } from '../syntax/ast.ts'
import type { Call, Element, Expression, ObjectLiteral } from '../syntax/ast-expressions.ts'
import { NO_ID, type Span } from '../syntax/node.ts'
import { RESULT, STR } from './builtin-types.ts'
import { conversionTo } from './conversions.ts'
import type { DbChain } from './db/chain.ts'
import type { DbTables } from './db/db-tables.ts'
import type { Declarations } from './declare.ts'
import { hasDefault } from './default-uses.ts'
import type { ModuleNames } from './module-names.ts'
import type { Natives } from './natives/natives-contract.ts'
import { Scopes } from './scopes.ts'
import { show } from './show.ts'
import { ANY, resolved, type Type, type VarType } from './type.ts'
import type { Conversion, ResolvedCall, TypedMatch, Use, UseOwner } from './typed-module.ts'
import { link, takeWoken } from './unify.ts'

/** The place that asks for a type, for the message if a value has another one. */
export interface Why {
  readonly code: DiagnosticCode
  readonly message: string
  /** Where the expected type is declared. */
  readonly related?: { readonly span: Span; readonly message: string }
  /**
   * Where a value may also be passed in place of `Some(value)`: a `member` of a literal becomes one, and what is
   * `stored` in a column or shown by a component is the same.
   */
  readonly wrapsSome?: 'member' | 'stored'
  /** The annotation that a fix may change. */
  readonly annotation?: Span
  /** The literal that contains the value: a mismatch is reported there, once. */
  readonly within?: Within
}

export interface Within {
  readonly at: Expression
  readonly expected: Type
  /** Returns the type of the literal if its part has this type. */
  readonly of: (part: Type) => Type
  readonly why: Why
  isReported: boolean
}

/** A function whose body is being inferred. */
export interface Frame {
  /** Declared or expected result; null if the body determines it. */
  readonly expected: Type | null
  readonly why: Why | null
  /** Values of `return` statements, if the body determines the result. */
  readonly returns: { readonly type: Type; readonly at: Expression | null }[]
  /** Kinds of failures that `?` returns, if the body determines the result. */
  readonly tries: { readonly type: Type; readonly at: Span }[]
  /** For each loop around the current position, whether a `break` leaves it. */
  readonly loops: { hasBreak: boolean }[]
}

interface Waiting {
  readonly run: () => void
  readonly at: Span
  /** False if the constraint holds for every type, so that an unknown one needs no annotation. */
  readonly isNeeded: boolean
  variable: VarType
  isDone: boolean
}

/** State of the inference of one module: side tables, scopes and the constraints that wait. */
export class Context {
  readonly module: Module
  readonly names: ModuleNames
  readonly declarations: Declarations
  readonly natives: Natives
  readonly tables: DbTables
  readonly isStrict: boolean
  /** Whether a host may supply functions that the program does not declare. */
  readonly hasHost: boolean
  readonly actors: readonly (Actor | Agent)[]
  /** Whether a struct of the module has a field with a default. */
  readonly hasDefaults: boolean
  readonly types: Type[] = []
  readonly conversions: (Conversion | undefined)[] = []
  readonly calls: (ResolvedCall | undefined)[] = []
  readonly matches: TypedMatch[] = []
  /** Operations on tables, by their outermost call. */
  readonly chains = new Map<Call, DbChain>()
  /** Elements that are calls of functions or constructors of the program. */
  readonly elementCalls = new Map<Element, Call>()
  readonly records = new Map<ObjectLiteral, string>()
  readonly uses = new Map<UseOwner, Use[]>()
  /** Inferred results of routes. */
  readonly routes = new Map<Declaration, Type>()
  readonly diagnostics: Diagnostic[] = []
  readonly scopes = new Scopes()
  item: Declaration
  /** The handler, or the field with a default, that is being inferred in `item`. */
  part: Handler | Field | null = null
  frame: Frame = { expected: null, why: null, returns: [], tries: [], loops: [] }
  #waiting: Waiting[] = []
  /** Types of the errors of Results, which are `str` if the program says nothing else. */
  #errors: Type[] = []
  /** Number of findings that compared a name with all others, which is slow in a file with many errors. */
  comparisons = 0

  constructor(
    module: Module,
    names: ModuleNames,
    declarations: Declarations,
    tables: DbTables,
    item: Declaration,
    isStrict: boolean,
    hasHost: boolean
  ) {
    this.module = module
    this.names = names
    this.declarations = declarations
    this.natives = declarations.natives
    this.tables = tables
    this.item = item
    this.isStrict = isStrict
    this.hasHost = hasHost
    this.actors = module.items.filter(item => item.kind === 'Actor' || item.kind === 'Agent')
    this.hasDefaults = module.items.some(hasDefault)
  }

  report(code: DiagnosticCode, message: string, at: Span, details?: DiagnosticDetails): void {
    this.diagnostics.push(diagnostic(code, message, at, details))
  }

  addUse(use: Use): void {
    this.#addUseOf(this.item, use)
    if (this.part !== null) this.#addUseOf(this.part, use)
  }

  #addUseOf(owner: UseOwner, use: Use): void {
    const known = this.uses.get(owner)
    if (known === undefined) this.uses.set(owner, [use])
    else known.push(use)
  }

  record(expression: Expression, type: Type): Type {
    if (expression.id !== NO_ID) this.types[expression.id] = type
    return type
  }

  convert(expression: Expression, conversion: Conversion): void {
    if (expression.id !== NO_ID) this.conversions[expression.id] = conversion
  }

  /** Runs `run` with the type of a variable, when it is known. Types that are known are passed at once. */
  when(type: Type, at: Span, run: (known: Type) => void, isNeeded = true): void {
    const known = resolved(type)
    if (known.kind !== 'var') {
      run(known)
      return
    }
    const { item, part } = this
    const waiting: Waiting = {
      run: () => {
        const [outer, outerPart] = [this.item, this.part]
        this.item = item
        this.part = part
        run(resolved(type))
        this.item = outer
        this.part = outerPart
      },
      at,
      isNeeded,
      variable: known,
      isDone: false
    }
    this.#waiting.push(waiting)
    this.#await(known, waiting)
  }

  #await(variable: VarType, waiting: Waiting): void {
    const retry = (): boolean => {
      if (waiting.isDone) return true
      const now = resolved(variable)
      if (now.kind === 'var') {
        waiting.variable = now
        this.#await(now, waiting)
        return false
      }
      waiting.isDone = true
      waiting.run()
      return true
    }
    if (variable.waiting === null) variable.waiting = [retry]
    else variable.waiting.push(retry)
  }

  /** Remembers the error of a Result that is made. */
  noteError(type: Type): void {
    const made = resolved(type)
    if (made.kind === 'named' && made.def === RESULT && made.args[1] !== undefined) this.#errors.push(made.args[1])
  }

  /** Gives a variable the type that was found for it. Its place may have given it another one before. */
  found(variable: Type, type: Type, at: Span): void {
    const expected = resolved(variable)
    if (conversionTo(resolved(type), expected, null, false) !== false) return
    this.report('typecheck.arg_mismatch', 'the value does not have the type with which it is used', at, {
      expectedType: show(expected),
      foundType: show(type)
    })
  }

  /** Tries constraints again whose variable was linked. */
  settle(): void {
    for (let next = takeWoken(); next !== undefined; next = takeWoken()) next()
  }

  /**
   * Settles all constraints: variables that are still needed become any. Reports each that needs an annotation, once.
   */
  settleAll(): void {
    this.settle()
    for (const error of this.#errors) {
      const variable = resolved(error)
      if (variable.kind === 'var') link(variable, STR)
    }
    this.#errors = []
    this.settle()
    // Settling one may link the variables of others.
    for (let index = 0; index < this.#waiting.length; index++) {
      const waiting = this.#waiting[index] as Waiting
      if (waiting.isDone) continue
      const variable = resolved(waiting.variable)
      // Values of all types can be compared, so a comparison leaves a type open.
      if (variable.kind !== 'var' || !waiting.isNeeded) continue
      if (variable.needsAnnotation) this.#reportUnknown(variable)
      link(variable, ANY)
      this.settle()
    }
    this.#waiting = []
  }

  #reportUnknown({ origin }: VarType): void {
    this.report('typecheck.annotation_needed', 'the type of this value is unknown; annotate it', origin)
  }
}

/** Inference of inner expressions, which the parts of the inference call. */
export interface Inference {
  readonly context: Context
  /** Finds the type of an expression. */
  infer(expression: Expression): Type
  /** Finds the type of an expression whose value is not used. */
  inferDiscarded(expression: Expression): Type
  /** Compares an expression with the type that its place asks for. Returns the type that the value has there. */
  check(expression: Expression, expected: Type, why: Why): Type
}
