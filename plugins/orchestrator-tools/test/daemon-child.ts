// A daemon in a separate process: prints its address, and serves until it is killed.
import { readDaemonState } from '@svc/contracts'
import type { Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import daemon from '../../daemon/src/plugin.ts'
import orchestrator from '../../orchestrator/src/plugin.ts'
import plugin from '../src/plugin.ts'

const settings = {
  daemon: { socket: '127.0.0.1:0' },
  orchestrator: { stubcheck_gate: false, auto_continue_enabled: false }
}
const { root } = await testKernel([daemon, orchestrator, plugin] as Plugin[], { settings })
const state = await readDaemonState(root)
process.stdout.write(`${JSON.stringify({ ...state, root })}\n`)
