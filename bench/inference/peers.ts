import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { isSmoke } from '../smoke-mode.ts'

export const root = resolve(import.meta.dirname, '..', '..')
/** Folder for peers, models and caches, about 7 GB; not under version control. */
export const scratch = join(root, '.vox', 'bench')
/** Bundled model of the model server, which is trained and has 3.8 million weights. */
export const bundledModel = join(root, 'plugins', 'model-server', 'models', 'vox-tiny')

export const peers = {
  transformers: '@huggingface/transformers@4.3.1',
  llama: 'node-llama-cpp@3.22.1'
} as const

/**
 * Installs the peers on the first run, because they are not dependencies of the project. Skips their install scripts.
 */
export async function installPeers(): Promise<void> {
  if (isSmoke) return
  const packages = Object.values(peers)
  const folder = (name: string) => join(scratch, 'node_modules', name.slice(0, name.lastIndexOf('@')))
  if (packages.every(name => existsSync(folder(name)))) return
  await mkdir(scratch, { recursive: true })
  await writeFile(join(scratch, 'package.json'), '{"private":true}')
  await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages], {
    cwd: scratch,
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' }
  })
}
