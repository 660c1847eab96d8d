import { join } from 'node:path'
import type { ServiceManager, ServiceState } from './service.ts'
import { mustRun, runManager, type System } from './system.ts'
import { systemdUnit } from './systemd-unit.ts'

/** systemd, for a service of the system or of a user. */
export function systemd(system: System, name: string, user: boolean): ServiceManager {
  const folder = user
    ? join(system.env.XDG_CONFIG_HOME || join(system.home, '.config'), 'systemd', 'user')
    : join(system.root, '/etc/systemd/system')
  const scope = user ? ['--user'] : []
  const unit = `${name}.service`
  const systemctl = (...argv: string[]) => mustRun(system, 'systemctl', [...scope, ...argv])
  return {
    kind: 'systemd',
    file: join(folder, unit),
    render: systemdUnit,
    async enable(start) {
      await systemctl('daemon-reload')
      await systemctl('enable', unit)
      // A service that runs already gets the new file, too.
      if (start) await systemctl('restart', unit)
    },
    async disable() {
      await systemctl('disable', '--now', unit)
    },
    async forget() {
      await systemctl('daemon-reload')
      // Fails if there is nothing to reset.
      await runManager(system, 'systemctl', [...scope, 'reset-failed', unit])
    },
    async state() {
      const { stdout } = await systemctl('show', unit, `--property=${PROPERTIES.join(',')}`)
      return stateOf(stdout)
    },
    hints() {
      const flag = user ? '--user ' : ''
      return [
        ['log', `journalctl ${flag}--unit ${unit} --follow`],
        ['reload the settings', `systemctl ${flag}reload ${unit}`],
        ...(user ? ([['run without a session of yours', 'loginctl enable-linger']] as const) : [])
      ]
    }
  }
}

const PROPERTIES = ['ActiveState', 'UnitFileState', 'MainPID', 'NRestarts', 'MemoryCurrent'] as const

/** Parses the output of `systemctl show`. */
function stateOf(text: string): ServiceState {
  const values = new Map(
    text.split('\n').map(line => {
      const [key = '', value = ''] = line.split('=', 2)
      return [key, value] as const
    })
  )
  const numberOf = (key: (typeof PROPERTIES)[number]): number | null => {
    const value = values.get(key) ?? ''
    // systemd shows a value that is unknown as text, or as the largest number of 64 bits.
    return /^\d{1,16}$/.test(value) ? Number(value) : null
  }
  return {
    state: values.get('ActiveState') || 'unknown',
    enabled: values.get('UnitFileState') === 'enabled',
    pid: numberOf('MainPID') || null,
    restarts: numberOf('NRestarts'),
    memoryBytes: numberOf('MemoryCurrent')
  }
}
