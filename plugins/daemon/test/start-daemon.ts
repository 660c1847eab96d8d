import type { DaemonState } from '@svc/contracts'
import type { Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import daemon from '#plugin'
import { daemonStateOf } from '../../../test/daemon-state.ts'
import { examplePlugin, type Gates, newGates } from './example-plugin.ts'
import { Peer } from './peer.ts'

export interface RunningDaemon {
  readonly kernel: TestKernel
  readonly gates: Gates
  readonly state: DaemonState
  /** Opens a connection that has sent the daemon's token; null sends none. */
  connect(token?: string | null): Promise<Peer>
  /** Replaces the daemon plugin by a new instance. */
  reload(): Promise<void>
}

/** Starts a daemon on a free port, with the example operations. It is closed after the test. */
export async function startDaemon(
  t: Test,
  settings: object = {},
  plugins: readonly Plugin[] = []
): Promise<RunningDaemon> {
  const gates = newGates()
  const kernel = await testKernel([daemon, examplePlugin(gates), ...plugins], {
    settings: { daemon: { socket: '127.0.0.1:0', ...settings } }
  })
  const peers: Peer[] = []
  t.teardown(async () => {
    for (const peer of peers) peer.close()
    await kernel.close()
  })
  const state = await daemonStateOf(kernel.root)
  return {
    kernel,
    gates,
    state,
    async connect(token = state.token) {
      const peer = await Peer.open(state.socket)
      peers.push(peer)
      if (token !== null) await peer.ask({ jsonrpc: '2.0', id: 'auth', method: '$/auth', params: { token } })
      return peer
    },
    reload: () => kernel.replace(daemon)
  }
}
