import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { startChild } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const VITE_PORT = 3001
export const VITE_URL = `http://127.0.0.1:${VITE_PORT}`

/** Runs the Vite server of a built project while programs are served. Outlives a reload of the plugin. */
export async function runVite(ctx: Pick<PluginContext, 'keep' | 'log'>, folder: string): Promise<void> {
  const { log } = ctx
  const script = join(folder, 'node_modules', 'vite', 'bin', 'vite.js')
  if (!existsSync(script)) {
    log.warn(`${folder}: Vite is not installed`, { hint: 'run svc build, then npm install in that folder' })
    return
  }
  await ctx.keep(
    `vite ${folder}`,
    () => {
      const args = [script, '--host', '127.0.0.1', '--port', String(VITE_PORT), '--strictPort']
      const child = startChild(process.execPath, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
      child.stderr.on('data', (chunk: Buffer) => log.warn(`vite: ${chunk.toString('utf8').trim()}`))
      child.on('error', error => log.error('vite did not start', { error }))
      child.on('exit', code => {
        if (code !== null && code !== 0) log.error(`vite ended with ${code}`)
      })
      return child
    },
    child => void child.kill()
  )
}
