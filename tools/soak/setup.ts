import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { NodeName } from './ledger.ts'
import type { Ports } from './svc-node.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PROJECT = fileURLToPath(new URL('./project', import.meta.url))
/** Small model of the tests, with random weights. */
const EMBEDDING_MODEL = join(ROOT, 'plugins', 'inference-onnx', 'test', 'fixtures', 'embeddings', 'bert')
/** Size of the file system of node two. Its logs take at most 50 MiB, the cached model 15 MiB. */
const SMALL_DISK_MIB = 192

/** Settings of a node that faults change. */
export interface Changeable {
  readonly slowMs: number
  readonly logLines: number
}

export interface ProjectOptions {
  readonly name: NodeName
  readonly ports: Ports
  /** Address of the control plane, as this node reaches it. */
  readonly controlUrl: string
}

/** Returns the `svc.toml` of a node. */
export function settingsOf({ name, ports, controlUrl }: ProjectOptions, { slowMs, logLines }: Changeable): string {
  const lines = [
    '[plugins.http]',
    `port = ${ports.http}`,
    `slow_ms = ${slowMs}`,
    '[plugins.observability]',
    `log_lines = ${logLines}`,
    '[plugins.daemon]',
    `socket = "127.0.0.1:${ports.daemon}"`,
    '[plugins.model-server]',
    `embedding_model = "${EMBEDDING_MODEL}"`,
    `port = ${ports.model}`,
    '[plugins.app-runtime]',
    'program = "app.vox"',
    `port = ${ports.app}`,
    'time_limit_ms = 10000',
    'steps = 1000000000000',
    'threads = 2',
    '[plugins.mesh-control]',
    `enabled = ${name === 'one'}`,
    `port = ${ports.mesh}`,
    'a2a_lease_ms = 20000',
    '[mesh]',
    'enabled = true',
    `control_url = "${controlUrl}"`,
    `node_id = "${name}"`,
    '[plugins.soak-isolated]',
    'isolation = "process"',
    '[orchestrator]',
    // Without a model, a continuation task would stay in progress and block its agent.
    'auto_continue_enabled = false',
    'mesh_remote_lease_timeout_ms = 60000',
    'stubcheck_gate = false'
  ]
  if (name === 'one')
    lines.push(
      'mesh_remote_execute_experimental = true',
      'mesh_remote_execute_receiver_agent = "2"',
      'mesh_remote_lease_gating_enabled = true',
      'mesh_remote_lease_gated_roles = ["builder"]'
    )
  return `${lines.join('\n')}\n`
}

/** Writes the project of a node: settings, program, two plugins, files to search. */
export function writeProject(folder: string, options: ProjectOptions, changeable: Changeable): void {
  mkdirSync(join(folder, 'node_modules', '@svc'), { recursive: true })
  for (const name of ['plugin-sdk', 'contracts', 'kernel'])
    symlinkSync(join(ROOT, name), join(folder, 'node_modules', '@svc', name))
  for (const name of ['worker', 'isolated']) {
    const plugin = join(folder, 'plugins', `soak-${name}`)
    mkdirSync(join(plugin, 'src'), { recursive: true })
    cpSync(join(PROJECT, name, 'plugin.ts'), join(plugin, 'src', 'plugin.ts'))
    const svc = { plugin: './dist/plugin.cjs', source: './src/plugin.ts' }
    writeFileSync(
      join(plugin, 'package.json'),
      JSON.stringify({ name: `svc-plugin-soak-${name}`, version: '1.0.0', type: 'module', svc })
    )
  }
  cpSync(join(PROJECT, 'app.vox'), join(folder, 'app.vox'))
  mkdirSync(join(folder, 'notes'))
  mkdirSync(join(folder, 'tmp'))
  writeFileSync(join(folder, 'svc.toml'), settingsOf(options, changeable))
}

/** Mounts a small file system at a folder. Returns null if that is not allowed here, else the function that unmounts it. */
export function mountSmallDisk(folder: string): (() => void) | null {
  mkdirSync(folder, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK_MIB}m,mode=700`, 'soak', folder], {
      stdio: 'ignore'
    })
  } catch {
    return null
  }
  return () => execFileSync('umount', ['--lazy', folder])
}

export async function freePorts(): Promise<Ports> {
  const servers = await Promise.all(
    Array.from({ length: 5 }, () => {
      const server = createServer()
      return new Promise<typeof server>(resolve => server.listen(0, '127.0.0.1', () => resolve(server)))
    })
  )
  const [http, daemon, model, app, mesh] = servers.map(server => (server.address() as { port: number }).port)
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return { http, daemon, model, app, mesh } as Ports
}
