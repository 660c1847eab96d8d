import { fileURLToPath } from 'node:url'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Test } from 'tap'
import { type Files, makeProject, type Served, SVC_BIN, serve } from './served-project.ts'

export const ERAS = ['2026', '2025'] as const
export type Era = (typeof ERAS)[number]

/** Folder of the fixture plugin for the conformance suite. */
export const FIXTURES = fileURLToPath(new URL('../fixtures/plugins/mcp-conformance', import.meta.url))

/** Creates a project with its own plugins, the fixtures and the surfaces. */
export function mcpProject(t: Test, files: Files = {}): string {
  const directories = `plugin_directories = ["plugins", ${JSON.stringify(FIXTURES)}]`
  // Models load slowly and are not needed here.
  const off = ['model-server', 'inference-onnx'].map(name => `[plugins.${name}]\nenabled = false\n`).join('')
  return makeProject(t, { 'svc.toml': `[kernel]\n${directories}\n${off}`, 'plugins/.keep': '', ...files })
}

/** Serves the surfaces and the plugins of `mcpProject` and of its `demo`. `svc mcp` runs all plugins. */
export function serveMcp(t: Test, folder: string, argv: readonly string[] = []): Promise<Served> {
  return serve(t, folder, ['--watch', '--only', 'http,daemon,mcp,mcp-conformance,demo', ...argv])
}

export async function overHttp(url: string, era: Era, options: ClientOptions = {}): Promise<Client> {
  const client = newClient(era, options)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  return client
}

export async function overStdio(
  folder: string,
  era: Era,
  options: ClientOptions = {},
  argv: string[] = []
): Promise<Client> {
  const client = newClient(era, options)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [SVC_BIN, 'mcp', ...argv],
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
    stderr: 'ignore'
  })
  await client.connect(transport)
  return client
}

function newClient(era: Era, options: ClientOptions): Client {
  return new Client(
    { name: 'e2e', version: '1.0.0' },
    { versionNegotiation: { mode: era === '2026' ? { pin: '2026-07-28' } : 'legacy' }, ...options }
  )
}
