import { service } from '@svc/plugin-sdk'

/** The daemon that the settings name, for a process that serves MCP on its standard streams. */
export const daemonPeer = service<DaemonPeer>('daemon.peer@1')

export interface DaemonPeer {
  /**
   * Requests the daemon's repository with `orch.ping`, once, in the background. If it serves another repository, logs
   * that its calls run in this process.
   */
  start(): void
}
