import type {
  HirActor,
  HirAgent,
  HirEndpoint,
  HirFunction,
  HirHandler,
  HirModule,
  HirParam,
  HirProcess,
  HirRoute,
  HirStateField,
  HirTable,
  HirType
} from '@svc/contracts'
import type {
  Activity,
  Actor,
  Agent,
  Declaration,
  FunctionDeclaration,
  Handler,
  HttpRoute,
  Param,
  ScriptStatement,
  StateField,
  Table,
  Workflow
} from '../syntax/ast.ts'
import type { Type } from '../syntax/ast-types.ts'
import { onSignUpOf } from '../syntax/on-sign-up.ts'
import { hirType } from '../types/hir-type.ts'
import { builtinRecords } from './builtin-records.ts'
import type { CodeLowering } from './code.ts'
import {
  ENDPOINT_PATHS,
  functionFlags,
  isDeprecated,
  routeHeader,
  SCRIPT_FLAGS,
  textsOf,
  typeDeclaration
} from './headers.ts'
import { lowerCrate, lowerImport } from './lower-imports.ts'
import { lowerType } from './lower-types.ts'
import type { ModuleScope } from './module-scope.ts'

interface ModuleOptions {
  /** Whether a function without a declared result has the inferred one; by default it has none. */
  readonly infersResults?: boolean
}

type Arrays = { readonly [Key in keyof HirModule]: HirModule[Key][number][] }

/** Lowers the declarations of a module without errors. `source` is its text. */
export function lowerModule(code: CodeLowering, source: string, options: ModuleOptions = {}): HirModule {
  const { module } = code.module.typed
  const lowering = new ModuleLowering(code, options.infersResults === true)
  for (const item of module.items) lowering.declaration(item)
  lowering.end()
  const records = builtinRecords(module, source, code.module.records)
  return { ...lowering.arrays, types: [...lowering.arrays.types, ...records] }
}

export function lowerParams(params: readonly Param[], module: Pick<ModuleScope, 'span'>): HirParam[] {
  return params.map(({ name, type, value, ...node }) => ({
    name: name.text,
    type_ann: type === null ? null : lowerType(type),
    hasDefault: value !== null,
    span: module.span(node)
  }))
}

class ModuleLowering {
  readonly arrays: Arrays = {
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
  readonly #code: CodeLowering
  readonly #infersResults: boolean
  readonly #script: ScriptStatement[] = []
  readonly #onSignUp: FunctionDeclaration | undefined

  constructor(code: CodeLowering, infersResults: boolean) {
    this.#code = code
    this.#infersResults = infersResults
    this.#onSignUp = onSignUpOf(code.module.typed.module)
  }

  /** Components, islands, client routes, tests and other declarations without an array are lowered elsewhere. */
  declaration(item: Declaration): void {
    const { arrays } = this
    switch (item.kind) {
      case 'Import':
        for (const each of item.items) {
          const span = this.#span(each)
          if (each.kind === 'RustImport') arrays.rust_imports.push(lowerCrate(each, span))
          else arrays.imports.push(...lowerImport(each, span))
        }
        return
      case 'Type':
        arrays.types.push(typeDeclaration(item, span => this.#span(span)))
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
        arrays.actors.push(this.#actor(item))
        return
      case 'Workflow':
        arrays.workflows.push(this.#process(item))
        return
      case 'Activity': {
        const { options } = item
        const process = this.#process(item)
        arrays.activities.push(
          options === null ? process : { ...process, optionsCode: this.#code.options(item, options) }
        )
        return
      }
      case 'Agent':
        arrays.agents.push(this.#agent(item))
        return
      case 'ScriptStatement':
        this.#script.push(item)
    }
  }

  /** Adds the function `main` of a script. */
  end(): void {
    const [first] = this.#script
    const last = this.#script.at(-1)
    if (first === undefined || last === undefined) return
    this.arrays.functions.push({
      name: 'main',
      generics: [],
      params: [],
      return_type: null,
      code: this.#code.script(this.#script),
      ...SCRIPT_FLAGS,
      span: this.#span({ start: first.start, end: last.end })
    })
  }

  #span(span: { readonly start: number; readonly end: number }) {
    return this.#code.module.span(span)
  }

  #table({ name, fields, isPublic, decorators, ...node }: Table): HirTable {
    return {
      name: name.text,
      fields: fields.map(field => ({
        name: field.name.text,
        type_ann: lowerType(field.type),
        ...(field.value === null ? {} : { code: this.#code.value(field.value) }),
        span: this.#span(field)
      })),
      is_pub: isPublic,
      is_deprecated: isDeprecated(decorators),
      span: this.#span(node)
    }
  }

  #function(fn: FunctionDeclaration): void {
    const { arrays } = this
    switch (fn.role) {
      case 'plain':
      case 'component':
        arrays.functions.push(this.#plain(fn))
        return
      case 'query':
        arrays.query_fns.push(this.#endpoint(fn, 'query'))
        return
      case 'mutation':
        // A sign-up calls it in its transaction; it is no endpoint.
        if (fn === this.#onSignUp) arrays.functions.push(this.#plain(fn))
        else arrays.mutation_fns.push(this.#endpoint(fn, 'mutation'))
        return
      case 'server':
        arrays.server_fns.push(this.#endpoint(fn, 'server'))
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
    return {
      name: fn.name.text,
      generics: fn.generics.map(({ text }) => text),
      params: this.#params(fn.params),
      return_type: this.#result(fn, fn.result),
      code: this.#code.function(fn),
      ...functionFlags(fn),
      span: this.#span(fn)
    }
  }

  #endpoint(fn: FunctionDeclaration, role: keyof typeof ENDPOINT_PATHS): HirEndpoint {
    return { ...this.#process(fn), route_path: ENDPOINT_PATHS[role] + fn.name.text }
  }

  #process(item: FunctionDeclaration | Workflow | Activity): HirProcess {
    return {
      name: item.name.text,
      params: this.#params(item.params),
      return_type: this.#result(item, item.result),
      code: this.#code.function(item),
      span: this.#span(item)
    }
  }

  #params(params: readonly Param[]): HirParam[] {
    return lowerParams(params, this.#code.module)
  }

  #result(item: FunctionDeclaration | Workflow | Activity | HttpRoute, annotation: Type | null): HirType | null {
    if (annotation !== null) return lowerType(annotation)
    return this.#infersResults ? hirType(this.#code.module.typed.resultOf(item)) : null
  }

  #route(route: HttpRoute): HirRoute {
    const { params } = route
    return {
      ...routeHeader(route),
      ...(params === null || params.length === 0 ? {} : { params: this.#params(params) }),
      return_type: this.#result(route, route.result),
      code: this.#code.route(route),
      span: this.#span(route)
    }
  }

  #actor(actor: Actor): HirActor {
    const { params } = actor
    const fields = this.#stateFields(actor)
    return {
      name: actor.name.text,
      ...(params === null || params.length === 0 ? {} : { params: this.#params(params) }),
      ...(fields.length === 0 ? {} : { state_fields: fields }),
      handlers: this.#handlers(actor),
      code: this.#code.initial(actor),
      span: this.#span(actor)
    }
  }

  #agent(agent: Agent): HirAgent {
    const { members } = agent
    const properties = members.filter(member => member.kind === 'AgentProperty')
    return {
      name: agent.name.text,
      version: members.find(member => member.kind === 'AgentVersion')?.version.value ?? null,
      state_fields: this.#stateFields(agent),
      handlers: this.#handlers(agent),
      migrations: members.flatMap(member => {
        if (member.kind !== 'Migration') return []
        return [
          { from_version: member.from.value, code: this.#code.migration(agent, member), span: this.#span(member) }
        ]
      }),
      ...(properties.length === 0
        ? {}
        : { properties: properties.map(({ name, value }) => ({ name: name.text, code: this.#code.value(value) })) }),
      code: this.#code.initial(agent),
      is_deprecated: isDeprecated(agent.decorators),
      span: this.#span(agent)
    }
  }

  #handlers(owner: Actor | Agent): HirHandler[] {
    return [...owner.members].flatMap(member => (member.kind === 'Handler' ? [this.#handler(owner, member)] : []))
  }

  #handler(owner: Actor | Agent, handler: Handler): HirHandler {
    return {
      event_name: handler.event.text,
      params: this.#params(handler.params),
      return_type: handler.result === null ? null : lowerType(handler.result),
      code: this.#code.handler(owner, handler),
      span: this.#span(handler)
    }
  }

  #stateFields(owner: Actor | Agent): HirStateField[] {
    const fields: StateField[] = [...owner.members].filter(member => member.kind === 'StateField')
    return fields.map(({ name, type, ...node }) => ({
      name: name.text,
      type_ann: type === null ? null : lowerType(type),
      span: this.#span(node)
    }))
  }
}
