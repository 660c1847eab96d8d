import { join } from 'node:path'
import { labelOf, launchdPlist } from './launchd-plist.ts'
import type { ServiceManager } from './service.ts'
import { mustRun, runManager, type System } from './system.ts'

/** launchd of macOS, for a daemon of the system or an agent of a user. */
export function launchd(system: System, name: string, user: boolean): ServiceManager {
  const label = labelOf(name)
  const domain = user ? `gui/${system.uid}` : 'system'
  const target = `${domain}/${label}`
  const file = user
    ? join(system.home, 'Library', 'LaunchAgents', `${label}.plist`)
    : join(system.root, '/Library/LaunchDaemons', `${label}.plist`)
  return {
    kind: 'launchd',
    file,
    render: launchdPlist,
    async enable(start) {
      // An older definition stays in use until it is removed.
      await runManager(system, 'launchctl', ['bootout', target])
      await mustRun(system, 'launchctl', ['enable', target])
      // Loading also starts the service, by RunAtLoad.
      if (start) await mustRun(system, 'launchctl', ['bootstrap', domain, file])
    },
    async disable() {
      // Fails if the service is not loaded, which is the aim.
      await runManager(system, 'launchctl', ['bootout', target])
      await mustRun(system, 'launchctl', ['disable', target])
    },
    async forget() {
      // launchd keeps nothing of a service that is disabled.
    },
    async state() {
      const { code, stdout } = await runManager(system, 'launchctl', ['print', target])
      const printed = (key: string): string | undefined => new RegExp(`^\\s*${key} = (.+)$`, 'm').exec(stdout)?.[1]
      const pid = Number(printed('pid')) || null
      const failed = /^[1-9]/.test(printed('last exit code') ?? '')
      return {
        state: pid !== null ? 'active' : failed ? 'failed' : 'inactive',
        enabled: code === 0,
        pid,
        restarts: null,
        memoryBytes: null
      }
    },
    hints() {
      return [['restart', `launchctl kickstart -k ${target}`]]
    }
  }
}
