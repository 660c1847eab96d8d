import { type Hir, pathParameters } from '@svc/contracts'
import type {
  Activity,
  Actor,
  Agent,
  Const,
  Expression,
  FunctionDeclaration,
  Handler,
  HttpRoute,
  Migration,
  Param,
  Pattern,
  ScriptStatement,
  StateField,
  Workflow
} from '../syntax/ast.ts'
import type { Type } from '../types/type.ts'
import type { TypedModule } from '../types/typed-module.ts'
import { BodyScope } from './body-scope.ts'
import { ByteOffsets } from './byte-offsets.ts'
import type { Condition } from './conditions.ts'
import { BodyLowering, type Frame, frameOf } from './lower-body.ts'
import { ModuleScope } from './module-scope.ts'

/** Roles of functions that are called from outside, in which `request` is the request. */
const EXPOSED: ReadonlySet<string> = new Set(['query', 'mutation', 'server', 'mcp.tool', 'mcp.resource'])

/** Roles of tests: no caller could take a failure. */
const TESTS: ReadonlySet<string> = new Set(['test', 'forall', 'fuzz'])

/** Code that no function contains. A failure throws. */
const OUTSIDE: Frame = { returnsResult: false, returnsFailures: false }

/** The head of a body, and its block. */
type Parts = Omit<Hir.Body, 'locals'>

const known = new WeakMap<TypedModule, CodeLowering>()

/** Returns the lowering of a module without errors, which several parts of a build use. `source` is its text. */
export function codeOfModule(typed: TypedModule, source: string): CodeLowering {
  const before = known.get(typed)
  if (before !== undefined) return before
  const code = new CodeLowering(typed, new ByteOffsets(source))
  known.set(typed, code)
  return code
}

/** Lowers the code of the declarations of a module without errors: one body each, once. */
export class CodeLowering {
  readonly module: ModuleScope
  readonly #known = new Map<object, Hir.Body>()

  constructor(typed: TypedModule, offsets: ByteOffsets) {
    this.module = new ModuleScope(typed, offsets)
  }

  /** Lowers a function, a workflow or an activity. A function without a body is its own name, which has no value. */
  function(item: FunctionDeclaration | Workflow | Activity): Hir.Body {
    const isTest = item.kind === 'Function' && TESTS.has(item.role)
    const frame = frameOf(this.module.typed.resultOf(item), item.result !== null || isTest)
    return this.#once(item, frame, lowering => ({
      ...this.#head(lowering, item),
      block: item.body === null ? this.#missing(item) : lowering.body(item.body)
    }))
  }

  #missing(item: FunctionDeclaration | Workflow | Activity): Hir.Block {
    const span = this.module.span(item.name)
    const type = this.module.types.of(this.module.typed.resultOf(item))
    return [{ kind: 'Expr', value: { kind: 'Unresolved', type, name: item.name.text, ...span }, ...span }]
  }

  #head(
    lowering: BodyLowering,
    item: FunctionDeclaration | Workflow | Activity,
    params: readonly Param[] = item.params
  ): Omit<Parts, 'block'> {
    const isExposed = item.kind === 'Function' && EXPOSED.has(item.role)
    if (isExposed && this.module.name('request') === undefined) lowering.scope.bind('request', { kind: 'request' })
    return lowering.params(params, this.#types(this.module.typed.paramTypes(item)))
  }

  /** Lowers the body of a node, once. */
  #once(node: object, frame: Frame, lower: (lowering: BodyLowering) => Parts): Hir.Body {
    const known = this.#known.get(node)
    if (known !== undefined) return known
    const body = this.body(frame, lower)
    this.#known.set(node, body)
    return body
  }

  #types(types: readonly Type[]): Hir.Type[] {
    return types.map(type => this.module.types.of(type))
  }

  /** Lowers a condition of a function. `result` is the variable after the parameters, unless it is a `@require`. */
  condition(item: FunctionDeclaration, { kind, value }: Pick<Condition, 'kind' | 'value'>): Hir.Body {
    return this.#once(value, OUTSIDE, lowering => {
      const head = this.#head(lowering, item, withoutDefaults(item.params))
      if (kind !== 'require') {
        lowering.scope.declare('result', this.module.types.of(this.module.typed.resultOf(item)))
      }
      return { ...head, block: this.#only(lowering, value) }
    })
  }

  /** Lowers the options of an activity, which may read its parameters. */
  options(item: Activity, options: Expression): Hir.Body {
    return this.#once(options, OUTSIDE, lowering => ({
      ...this.#head(lowering, item, withoutDefaults(item.params)),
      block: this.#only(lowering, options)
    }))
  }

  /** Lowers a route. Its parameters are those of `routeParameters`. */
  route(route: HttpRoute): Hir.Body {
    const { typed } = this.module
    const params = route.params ?? []
    const implicit = [...pathParameters(route.path.value), 'request'].filter(
      name => !params.some(param => param.name.text === name)
    )
    return this.#once(route, frameOf(typed.resultOf(route), route.result !== null), lowering => {
      const head = lowering.params(params, this.#types(typed.paramTypes(route)), implicit)
      if (implicit.includes('request')) lowering.scope.bind('request', { kind: 'request' })
      return { ...head, block: lowering.body(route.body) }
    })
  }

  /** Lowers the parameters of `spawn`, and the initial values of the fields as assignments. */
  initial(item: Actor | Agent): Hir.Body {
    const { module } = this
    const fields = stateOf(item)
    return this.#once(item, OUTSIDE, lowering => {
      const head = lowering.params(spawnParams(item), this.#types(module.typed.paramTypes(item)))
      const block = fields.flatMap((field): Hir.Stmt[] => {
        const set = field.value === null ? [] : [this.#initialValue(lowering, field, field.value)]
        // A field may read those before.
        lowering.scope.bind(field.name.text, { kind: 'state', field: field.name.text })
        return set
      })
      return { ...head, block }
    })
  }

  #initialValue(lowering: BodyLowering, { name, ...node }: StateField, written: Expression): Hir.Update {
    const value = lowering.value(written)
    const place: Hir.Place = { root: { state: name.text }, path: [], type: value.type }
    return { kind: 'Update', place, operator: null, value, ...this.module.span(node) }
  }

  handler(item: Actor | Agent, handler: Handler): Hir.Body {
    const { typed } = this.module
    const frame = frameOf(typed.handlerResult(item, handler), handler.result !== null)
    return this.#once(handler, frame, lowering => {
      bindState(lowering.scope, item)
      const head = lowering.params(handler.params, this.#types(typed.paramTypes(item, handler)))
      return { ...head, block: lowering.body(handler.body) }
    })
  }

  migration(item: Agent, migration: Migration): Hir.Body {
    return this.#once(migration, OUTSIDE, lowering => {
      bindState(lowering.scope, item)
      return { params: [], defaults: [], block: lowering.block(migration.body) }
    })
  }

  /** Lowers the statements outside functions: the body of `main`. */
  script(statements: readonly ScriptStatement[]): Hir.Body {
    return this.#once(statements[0] ?? statements, OUTSIDE, lowering => ({
      params: [],
      defaults: [],
      block: statements.map(({ statement }) => lowering.statement(statement))
    }))
  }

  constant({ statement }: Const): Hir.Body {
    return this.#once(statement, OUTSIDE, lowering => ({
      params: [],
      defaults: [],
      block: [lowering.statement(statement)]
    }))
  }

  /** Lowers a value outside functions: a default, a property. */
  value(value: Expression): Hir.Body {
    return this.#once(value, OUTSIDE, lowering => ({ params: [], defaults: [], block: this.#only(lowering, value) }))
  }

  /** Lowers code outside functions that is no single body, such as that of a component. */
  outside<P extends object>(lower: (lowering: BodyLowering) => P): P & Pick<Hir.Body, 'locals'> {
    return this.body(OUTSIDE, lower)
  }

  #only(lowering: BodyLowering, expression: Expression): Hir.Block {
    return [{ kind: 'Expr', value: lowering.value(expression), ...this.module.span(expression) }]
  }

  /**
   * Lowers a body. Whether a variable holds the answer of an operation as a Result is known only after its last use:
   * then the body is lowered again.
   */
  body<P extends object>(frame: Frame, lower: (lowering: BodyLowering) => P): P & Pick<Hir.Body, 'locals'> {
    const kept = new Set<Pattern>()
    for (;;) {
      const scope = new BodyScope()
      const lowering = new BodyLowering(this.module, scope, frame, kept)
      const parts = lower(lowering)
      if (lowering.missing.size === 0) return { locals: scope.locals, ...parts }
      for (const pattern of lowering.missing) kept.add(pattern)
    }
  }
}

/** Returns the parameters of a function that runs already: its conditions only read them. */
function withoutDefaults(params: readonly Param[]): Param[] {
  return params.map(param => ({ ...param, value: null }))
}

function stateOf({ members }: Actor | Agent): StateField[] {
  return [...members].filter(member => member.kind === 'StateField')
}

function spawnParams(item: Actor | Agent): readonly Param[] {
  return item.kind === 'Actor' ? (item.params ?? []) : []
}

/** Binds the parameters of `spawn` and the fields. */
function bindState(scope: BodyScope, item: Actor | Agent): void {
  for (const { name } of [...spawnParams(item), ...stateOf(item)]) {
    scope.bind(name.text, { kind: 'state', field: name.text })
  }
}
