import { defined } from '@svc/plugin-sdk'
import type {
  Activity,
  Declaration,
  Field,
  FunctionDeclaration,
  HttpRoute,
  Module,
  ScriptStatement,
  Table,
  TypeDeclaration,
  Workflow
} from '../syntax/ast.ts'
import { WITHOUT_BODY } from '../syntax/decorators.ts'
import { onSignUpOf } from '../syntax/on-sign-up.ts'
import { roleTexts } from '../syntax/role-texts.ts'
import { tablesOf } from '../types/db/db-tables.ts'
import { hirType } from '../types/hir-type.ts'
import type { TypedModule } from '../types/typed-module.ts'
import { builtinRecords } from './builtin-records.ts'
import { ByteOffsets } from './byte-offsets.ts'
import type { CodeLowering } from './code.ts'
import { codeOf } from './code-of.ts'
import { DecoratorValues } from './decorator-values.ts'
import type {
  HirActivity,
  HirEndpoint,
  HirFunction,
  HirModule,
  HirNamedField,
  HirProcess,
  HirRoute,
  HirSpan,
  HirTable,
  HirType,
  HirTypeDeclaration
} from './hir.ts'
import { type Conversions, ExpressionLowering, type RecordTypes } from './lower-expressions.ts'
import { lowerCrate, lowerImport } from './lower-imports.ts'
import { isDeprecated, StatefulLowering } from './lower-stateful.ts'
import { lowerType } from './lower-types.ts'

const METHODS = { get: 'Get', post: 'Post', put: 'Put', delete: 'Delete' } as const

/**
 * Lowers a module. Table calls become operations with a plan, decorators become fields, and definitions are numbered in
 * source order. Never throws; skips parts that have errors.
 */
export function lower(module: Module, source: string, types: Partial<KnownTypes> = {}): HirModule {
  return new ModuleLowering(module, source, types).run()
}

/** Types that only the checks can infer. */
export interface KnownTypes {
  /** Returns the inferred result type of a function without a declared one; null if unknown. */
  readonly results: (declaration: FunctionDeclaration | HttpRoute | Workflow | Activity) => HirType | null
  readonly records: RecordTypes
  /** Omitted for the IR document, which prints values as they are written. */
  readonly conversions?: Conversions
  /** Lowers the code of the declarations; omitted for the IR document. */
  readonly code?: CodeLowering
}

/** Returns the inferred types of a checked module that are certain. */
export function knownTypes(types: TypedModule): KnownTypes {
  return { results: declaration => hirType(types.resultOf(declaration)), records: types.records }
}

type Arrays = { readonly [Key in keyof HirModule]: HirModule[Key][number][] }

class ModuleLowering {
  readonly #module: Module
  readonly #source: string
  readonly #bodies: ExpressionLowering
  readonly #stateful: StatefulLowering
  readonly #results: KnownTypes['results']
  readonly #code: CodeLowering | undefined
  readonly #scriptStatements: ScriptStatement[] = []
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

  constructor(
    module: Module,
    source: string,
    { results = () => null, records = new Map(), conversions, code }: Partial<KnownTypes>
  ) {
    this.#code = code
    this.#module = module
    this.#source = source
    this.#results = results
    this.#bodies = new ExpressionLowering(new ByteOffsets(source), tablesOf(module), records, conversions)
    this.#stateful = new StatefulLowering(this.#bodies, code)
  }

  run(): HirModule {
    for (const item of this.#module.items) this.#declaration(item)
    if (this.#scriptStatements.length > 0) this.#arrays.functions.push(this.#script())
    this.#arrays.types.push(
      ...builtinRecords(this.#module, this.#source, this.#bodies.records, () => this.#bodies.define())
    )
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
        arrays.types.push(this.#type(item))
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

  #type({ name, generics, definition, isPublic: is_pub, ...node }: TypeDeclaration): HirTypeDeclaration {
    const id = this.#bodies.define()
    const variants = definition.form === 'variants' ? definition.variants : []
    return {
      id,
      name: name.text,
      variants: variants.map(variant => ({
        name: variant.name.text,
        fields: variant.fields.map(fieldOf),
        span: this.#bodies.span(variant)
      })),
      ...(definition.form === 'struct' ? { fields: definition.fields.map(fieldOf) } : {}),
      ...(definition.form === 'alias' ? { alias: lowerType(definition.type) } : {}),
      ...(generics.length > 0 ? { generics: generics.map(({ text }) => text) } : {}),
      is_pub,
      span: this.#bodies.span(node)
    }
  }

  #table(table: Table): HirTable {
    return {
      id: this.#bodies.define(),
      name: table.name.text,
      fields: table.fields.map(field => ({
        name: field.name.text,
        type_ann: lowerType(field.type),
        ...(field.value === null ? {} : { default: this.#bodies.expression(field.value) }),
        ...(field.value === null || this.#code === undefined ? {} : { code: this.#code.value(field.value) }),
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
        arrays.query_fns.push(this.#endpoint(fn, '/api/query/'))
        return
      case 'mutation':
        // A sign-up calls it in its transaction; it is no endpoint.
        if (fn === onSignUpOf(this.#module)) arrays.functions.push(this.#plain(fn))
        else arrays.mutation_fns.push(this.#endpoint(fn, '/api/mutation/'))
        return
      case 'server':
        arrays.server_fns.push(this.#endpoint(fn, '/api/'))
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

  #plain(fn: FunctionDeclaration): HirFunction {
    const decorators = new DecoratorValues(fn.decorators)
    const model = decorators.text('ai', 'model')
    const interval = decorators.text('scheduled', 'every')
    const { id, name, params, return_type, body, code, span } = this.#signature(fn)
    return {
      id,
      name,
      generics: fn.generics.map(({ text }) => text),
      params,
      return_type,
      body,
      ...codeOf(code),
      is_component: fn.role === 'component',
      is_async: fn.isAsync,
      is_pub: fn.isPublic,
      is_mobile_native: decorators.has('native'),
      is_pure: decorators.has('pure'),
      is_llm: fn.decorators.some(decorator => WITHOUT_BODY.has(decorator.name.text)),
      ...defined({ llm_model: model }),
      is_deprecated: decorators.has('deprecated'),
      ...defined({ schedule_interval: interval }),
      postconditions: decorators.all('ensure').flatMap(({ args, strings }) => {
        const [condition, other] = args ?? []
        if (condition === undefined) return []
        const fallback = other?.value.kind === 'String' ? other.value.value : (strings[0]?.value ?? null)
        return [{ condition: this.#bodies.expression(condition.value), fallback }]
      }),
      span
    }
  }

  #endpoint(fn: FunctionDeclaration, base: string): HirEndpoint {
    const { span, ...signature } = this.#signature(fn)
    return { ...signature, route_path: base + fn.name.text, span }
  }

  #process(item: Workflow | Activity): HirProcess {
    return this.#signature(item)
  }

  #activity(item: Activity): HirActivity {
    const { span, ...signature } = this.#signature(item)
    const { options } = item
    if (options === null) return { ...signature, span }
    const code = this.#code === undefined ? {} : { optionsCode: this.#code.options(item, options) }
    return { ...signature, options: this.#bodies.expression(options), ...code, span }
  }

  #signature(item: FunctionDeclaration | Workflow | Activity): HirProcess {
    return {
      id: this.#bodies.define(),
      name: item.name.text,
      params: this.#bodies.params(item.params),
      return_type: item.result === null ? this.#results(item) : lowerType(item.result),
      body: item.body === null ? [] : this.#bodies.block(item.body),
      ...codeOf(this.#code?.function(item)),
      span: this.#bodies.span(item)
    }
  }

  #route(route: HttpRoute): HirRoute {
    const path = route.path.value
    return {
      method: METHODS[route.method],
      path,
      route_contract: `${route.method.toUpperCase()} ${path}`,
      ...(route.params === null || route.params.length === 0 ? {} : { params: this.#bodies.params(route.params) }),
      return_type: route.result === null ? this.#results(route) : lowerType(route.result),
      body: this.#bodies.block(route.body),
      ...codeOf(this.#code?.route(route)),
      span: this.#bodies.span(route)
    }
  }

  /** Lowers the top-level statements of a script to its `main` function. */
  #script(): HirFunction {
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
      ...codeOf(this.#code?.script(this.#scriptStatements)),
      is_component: false,
      is_async: false,
      is_pub: false,
      is_mobile_native: false,
      is_pure: false,
      is_llm: false,
      is_deprecated: false,
      postconditions: [],
      span
    }
  }
}

function fieldOf({ name, type }: Field): HirNamedField {
  return [name.text, lowerType(type)]
}

function textsOf({ roleDecorator }: FunctionDeclaration): string[] {
  return roleDecorator === null ? [] : roleTexts(roleDecorator).map(({ value }) => value)
}
