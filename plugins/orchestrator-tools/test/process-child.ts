// A process of a repository. Argument: FILE of the database. Reads one JSON line { tool, args } or { submit } each, and prints the result
// as one JSON line; the first line is { pid }.
import { createInterface } from 'node:readline'
import {
  coordinationBackend,
  type McpToolset,
  mcpToolset,
  type Orchestrator,
  orchestrator as orchestratorToken
} from '@svc/contracts'
import coordination from '@svc/plugin-coordination'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { fake, testKernel } from '@svc/plugin-sdk/testing'
import '../../database/test/built-worker.ts'
import mcp from '@svc/plugin-mcp'
import orchestrator from '@svc/plugin-orchestrator'
import plugin from '#plugin'

const [file = '', mode = ''] = process.argv.slice(2)
let held: { readonly tasks: { readonly current: Orchestrator }; readonly tools: { readonly current: McpToolset } }
const probe = definePlugin({
  name: 'probe',
  requires: { tasks: ref(orchestratorToken), tools: ref(mcpToolset) },
  activate: (_ctx, deps) => {
    held = deps
  }
})
const all = [database, ...(mode === 'alone' ? [] : [coordination]), orchestrator, mcp, plugin, probe] as Plugin[]
await testKernel(all, {
  services: [fake(coordinationBackend, { store: null })],
  settings: {
    database: { path: file },
    orchestrator: { stubcheck_gate: false, auto_continue_enabled: false, tier_enforcement: false }
  }
})
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`)
say({ pid: process.pid })
for await (const line of createInterface(process.stdin)) {
  const { tool, args, submit } = JSON.parse(line) as { tool?: string; args?: Record<string, unknown>; submit?: number }
  try {
    if (submit !== undefined) {
      const made = Array.from({ length: submit }, (_, at) =>
        held!.tasks.current.submit({ description: `Task ${at}`, files: [], agent_name: 'far' })
      )
      say({ submitted: (await Promise.all(made)).length })
    } else {
      const principal = { id: 'child', role: 'owner', scopes: ['*'] }
      const result = await held!.tools.current.call(`svc_${tool}`, args ?? {}, { principal })
      say(result?.structuredContent)
    }
  } catch (error) {
    say({ failed: String(error) })
  }
}
