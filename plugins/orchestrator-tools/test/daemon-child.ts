// A daemon in a separate process: prints its address, and serves until it is killed.
import daemon from '@svc/plugin-daemon'
import orchestrator from '@svc/plugin-orchestrator'
import type { Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import plugin from '#plugin'
import { daemonStateOf } from '../../../test/daemon-state.ts'

const settings = {
  daemon: { socket: '127.0.0.1:0' },
  orchestrator: { stubcheck_gate: false, auto_continue_enabled: false }
}
const { root } = await testKernel([daemon, orchestrator, plugin] as Plugin[], { settings })
const state = await daemonStateOf(root)
process.stdout.write(`${JSON.stringify({ ...state, root })}\n`)
