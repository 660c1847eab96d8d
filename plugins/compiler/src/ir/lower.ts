import type { HirSpan, HirType } from '@svc/contracts'
import { builtinRecords } from '../hir/builtin-records.ts'
import { ByteOffsets } from '../hir/byte-offsets.ts'
import { DecoratorValues } from '../hir/decorator-values.ts'
import {
  ENDPOINT_PATHS,
  functionFlags,
  isDeprecated,
  routeHeader,
  SCRIPT_FLAGS,
  textsOf,
  typeDeclaration
} from '../hir/headers.ts'
import { lowerCrate, lowerImport } from '../hir/lower-imports.ts'
import { lowerType } from '../hir/lower-types.ts'
import type {
  Activity,
  Declaration,
  FunctionDeclaration,
  HttpRoute,
  Module,
  ScriptStatement,
  Table,
  Workflow
} from '../syntax/ast.ts'
import { onSignUpOf } from '../syntax/on-sign-up.ts'
import { tablesOf } from '../types/db/db-tables.ts'
import { hirType } from '../types/hir-type.ts'
import type { TypedModule } from '../types/typed-module.ts'
import type { IrActivity, IrEndpoint, IrFunction, IrModule, IrProcess, IrRoute, IrTable } from './ir.ts'
import { ExpressionLowering, type RecordTypes } from './lower-expressions.ts'
import { StatefulLowering } from './lower-stateful.ts'

/**
 * Lowers a module. Table calls become operations with a plan, decorators become fields, and definitions are numbered in
 * source order. Never throws; skips parts that have errors.
 */
export function lower(module: Module, source: string, types: Partial<KnownTypes> = {}): IrModule {
  return new ModuleLowering(module, source, types).run()
}

/** Types that only the checks can infer. */
export interface KnownTypes {
  /** Returns the inferred result type of a function without a declared one; null if unknown. */
  readonly results: (declaration: FunctionDeclaration | HttpRoute | Workflow | Activity) => HirType | null
  readonly records: RecordTypes
}

/** Returns the inferred types of a checked module that are certain. */
export function knownTypes(types: TypedModule): KnownTypes {
  return { results: declaration => hirType(types.resultOf(declaration)), records: types.records }
}

type Arrays = { readonly [Key in keyof IrModule]: IrModule[Key][number][] }

class ModuleLowering {
  readonly #module: Module
  readonly #source: string
  readonly #bodies: ExpressionLowering
  readonly #stateful: StatefulLowering
  readonly #results: KnownTypes['results']
  readonly #scriptStatements: ScriptStatement[] = []
  readonly #onSignUp: FunctionDeclaration | undefined
  readonly #arrays: Arrays = {
    imports: [],
    rust_imports: [],
    functions: [],
    types: [],
    routes: [],
    actors: [],
    workflows: [],
    activities: [],
    server_fns: [],
    query_fns: [],
    mutation_fns: [],
    tables: [],
    mcp_tools: [],
    mcp_resources: [],
    agents: []
  }

  constructor(module: Module, source: string, { results = () => null, records = new Map() }: Partial<KnownTypes>) {
    this.#module = module
    this.#onSignUp = onSignUpOf(module)
    this.#source = source
    this.#results = results
    this.#bodies = new ExpressionLowering(new ByteOffsets(source), tablesOf(module), records)
    this.#stateful = new StatefulLowering(this.#bodies)
  }

  run(): IrModule {
    for (const item of this.#module.items) this.#declaration(item)
    if (this.#scriptStatements.length > 0) this.#arrays.functions.push(this.#script())
    const records = builtinRecords(this.#module, this.#source, this.#bodies.records)
    this.#arrays.types.push(...records.map(record => ({ id: this.#bodies.define(), ...record })))
    return this.#arrays
  }

  /**
   * Lowers a declaration. Components, islands, client routes, tests and other declarations without an array are lowered
   * elsewhere.
   */
  #declaration(item: Declaration): void {
    const arrays = this.#arrays
    switch (item.kind) {
      case 'Import':
        for (const each of item.items) {
          const span = this.#bodies.span(each)
          if (each.kind === 'RustImport') arrays.rust_imports.push(lowerCrate(each, span))
          else arrays.imports.push(...lowerImport(each, span))
        }
        return
      case 'Type':
        arrays.types.push({ id: this.#bodies.define(), ...typeDeclaration(item, span => this.#bodies.span(span)) })
        return
      case 'Table':
        arrays.tables.push(this.#table(item))
        return
      case 'Function':
        this.#function(item)
        return
      case 'HttpRoute':
        arrays.routes.push(this.#route(item))
        return
      case 'Actor':
        arrays.actors.push(this.#stateful.actor(item))
        return
      case 'Workflow':
        arrays.workflows.push(this.#process(item))
        return
      case 'Activity':
        arrays.activities.push(this.#activity(item))
        return
      case 'Agent':
        arrays.agents.push(this.#stateful.agent(item))
        return
      case 'ScriptStatement':
        this.#scriptStatements.push(item)
    }
  }

  #table(table: Table): IrTable {
    return {
      id: this.#bodies.define(),
      name: table.name.text,
      fields: table.fields.map(field => ({
        name: field.name.text,
        type_ann: lowerType(field.type),
        ...(field.value === null ? {} : { default: this.#bodies.expression(field.value) }),
        span: this.#bodies.span(field)
      })),
      is_pub: table.isPublic,
      is_deprecated: isDeprecated(table.decorators),
      span: this.#bodies.span(table)
    }
  }

  #function(fn: FunctionDeclaration): void {
    const arrays = this.#arrays
    switch (fn.role) {
      case 'plain':
      case 'component':
        arrays.functions.push(this.#plain(fn))
        return
      case 'query':
        arrays.query_fns.push(this.#endpoint(fn, ENDPOINT_PATHS.query))
        return
      case 'mutation':
        // A sign-up calls it in its transaction; it is no endpoint.
        if (fn === this.#onSignUp) arrays.functions.push(this.#plain(fn))
        else arrays.mutation_fns.push(this.#endpoint(fn, ENDPOINT_PATHS.mutation))
        return
      case 'server':
        arrays.server_fns.push(this.#endpoint(fn, ENDPOINT_PATHS.server))
        return
      case 'mcp.tool': {
        const [description = ''] = textsOf(fn)
        arrays.mcp_tools.push({ description, func: this.#plain(fn) })
        return
      }
      case 'mcp.resource': {
        const [uri = '', description = ''] = textsOf(fn)
        arrays.mcp_resources.push({ uri, description, func: this.#plain(fn) })
      }
    }
  }

  #plain(fn: FunctionDeclaration): IrFunction {
    const decorators = new DecoratorValues(fn.decorators)
    const { id, name, params, return_type, body, span } = this.#signature(fn)
    return {
      id,
      name,
      generics: fn.generics.map(({ text }) => text),
      params,
      return_type,
      body,
      ...functionFlags(fn),
      postconditions: decorators.all('ensure').flatMap(({ args, strings }) => {
        const [condition, other] = args ?? []
        if (condition === undefined) return []
        const fallback = other?.value.kind === 'String' ? other.value.value : (strings[0]?.value ?? null)
        return [{ condition: this.#bodies.expression(condition.value), fallback }]
      }),
      span
    }
  }

  #endpoint(fn: FunctionDeclaration, base: string): IrEndpoint {
    const { span, ...signature } = this.#signature(fn)
    return { ...signature, route_path: base + fn.name.text, span }
  }

  #process(item: Workflow | Activity): IrProcess {
    return this.#signature(item)
  }

  #activity(item: Activity): IrActivity {
    const { span, ...signature } = this.#signature(item)
    const { options } = item
    if (options === null) return { ...signature, span }
    return { ...signature, options: this.#bodies.expression(options), span }
  }

  #signature(item: FunctionDeclaration | Workflow | Activity): IrProcess {
    return {
      id: this.#bodies.define(),
      name: item.name.text,
      params: this.#bodies.params(item.params),
      return_type: item.result === null ? this.#results(item) : lowerType(item.result),
      body: item.body === null ? [] : this.#bodies.block(item.body),
      span: this.#bodies.span(item)
    }
  }

  #route(route: HttpRoute): IrRoute {
    return {
      ...routeHeader(route),
      ...(route.params === null || route.params.length === 0 ? {} : { params: this.#bodies.params(route.params) }),
      return_type: route.result === null ? this.#results(route) : lowerType(route.result),
      body: this.#bodies.block(route.body),
      span: this.#bodies.span(route)
    }
  }

  /** Lowers the top-level statements of a script to its `main` function. */
  #script(): IrFunction {
    const id = this.#bodies.define()
    const first = this.#scriptStatements[0] as ScriptStatement
    const last = this.#scriptStatements.at(-1) as ScriptStatement
    const span: HirSpan = this.#bodies.span({ start: first.start, end: last.end })
    return {
      id,
      name: 'main',
      generics: [],
      params: [],
      return_type: null,
      body: this.#scriptStatements.map(({ statement }) => this.#bodies.statement(statement)),
      ...SCRIPT_FLAGS,
      postconditions: [],
      span
    }
  }
}
