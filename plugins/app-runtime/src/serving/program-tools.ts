import {
  type McpResource,
  type McpTool,
  mcpResources,
  mcpTools,
  type Program,
  TypeNames,
  TypeSchemas
} from '@svc/contracts'
import { defined, type PluginContext } from '@svc/plugin-sdk'
import type { Guards } from '../auth/guard.ts'
import { endpointsOf } from './endpoints.ts'
import type { ProgramPool } from './program-pool.ts'

/** Contributes the functions with `@mcp.tool` and `@mcp.resource`. */
export function contributeTools(
  ctx: Pick<PluginContext, 'contribute'>,
  program: Program,
  pool: ProgramPool,
  guards: Pick<Guards, 'ofTool'>
): void {
  for (const [index, { kind, name }] of endpointsOf(program).entries()) {
    if (kind === 'tool') ctx.contribute(mcpTools, toolOf(program, name, index, pool, guards), `tool ${name}`)
    else if (kind === 'resource')
      ctx.contribute(mcpResources, resourceOf(program, name, index, pool, guards), `resource ${name}`)
  }
}

type Admit = Pick<Guards, 'ofTool'>

function toolOf({ module, defaults }: Program, name: string, index: number, pool: ProgramPool, guards: Admit): McpTool {
  const { description, func } = module.mcp_tools.find(each => each.func.name === name) as (typeof module.mcp_tools)[0]
  const schemas = new TypeSchemas(new TypeNames(module), defaults)
  const input = schemas.whole(schemas.ofParams(func.params))
  return {
    name,
    description: describe(description, name),
    input,
    async call(args, call) {
      const caller = guards.ofTool(name, call)
      const { status, body } = await pool.ask(index, JSON.stringify(args), caller)
      const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
      const answer = JSON.parse(body) as unknown
      if (status === 200) return { content: [{ type: 'text', text: isText(answer) ? answer : body }] }
      const { error, code, hint } = answer as {
        readonly error?: unknown
        readonly code?: string
        readonly hint?: string
      }
      const message = text(error ?? answer)
      return {
        content: [{ type: 'text', text: message }],
        isError: true,
        _meta: { 'svc/error': defined({ code, message, status, hint }) }
      }
    }
  }
}

function resourceOf({ module }: Program, name: string, index: number, pool: ProgramPool, guards: Admit): McpResource {
  const found = module.mcp_resources.find(each => each.func.name === name) as (typeof module.mcp_resources)[0]
  const { uri, description } = found
  return {
    uri,
    name,
    description: describe(description, name),
    mimeType: 'text/plain',
    async read(call) {
      const { status, body } = await pool.ask(index, '', guards.ofTool(name, call))
      const answer = JSON.parse(body) as unknown
      if (status !== 200) throw new Error((answer as { readonly error: string }).error)
      return { contents: [{ uri, mimeType: 'text/plain', text: isText(answer) ? answer : body }] }
    }
  }
}

function isText(answer: unknown): answer is string {
  return typeof answer === 'string'
}

/** Removes the name from a description that is written as `name: description`. */
function describe(description: string, name: string): string {
  return description.startsWith(`${name}:`) ? description.slice(name.length + 1).trim() : description
}
