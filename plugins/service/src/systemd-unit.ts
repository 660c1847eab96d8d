import { join } from 'node:path'
import { commandOf, MARK, type ServiceSpec, STOP_SECONDS } from './service.ts'

/** Restrictions that only a service of the system can have: those of a user would need user namespaces. */
function sandbox({ name, project, gpu, runAs }: ServiceSpec): string[] {
  const home = runAs?.home ?? '/nonexistent'
  const writable = [project, join(home, '.vox'), join(home, '.local', 'share', 'svc'), join(home, '.cache')]
  return [
    `StateDirectory=${name}`,
    `CacheDirectory=${name}`,
    'ProtectSystem=strict',
    'ProtectHome=read-only',
    // The minus sign: a folder that does not exist is no error.
    ...writable.map(path => `ReadWritePaths=-${quoted(path)}`),
    'PrivateTmp=yes',
    ...(gpu ? ['# GPUs are devices, so the devices of the machine stay visible.'] : ['PrivateDevices=yes']),
    'ProtectClock=yes',
    'ProtectControlGroups=yes',
    'ProtectHostname=yes',
    'ProtectKernelLogs=yes',
    'ProtectKernelModules=yes',
    'ProtectKernelTunables=yes',
    'ProtectProc=invisible',
    'RemoveIPC=yes',
    'RestrictNamespaces=yes',
    'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
    'CapabilityBoundingSet=',
    'AmbientCapabilities=',
    'SystemCallFilter=@system-service',
    'SystemCallFilter=~@privileged',
    'SystemCallErrorNumber=EPERM'
  ]
}

/** Returns a unit for systemd 245 or newer. Types and values are those of systemd.service(5) and systemd.exec(5). */
export function systemdUnit(spec: ServiceSpec): string {
  const { name, user, project, runAs, credentials, memoryMax } = spec
  return `# ${MARK}; it replaces this file. Your own lines: systemctl ${user ? '--user ' : ''}edit ${name}
[Unit]
Description=svc in ${project.replaceAll('%', '%%')}
${user ? '' : 'Wants=network-online.target\nAfter=network-online.target\n'}StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
${runAs === undefined ? '' : `User=${runAs.name}\n`}WorkingDirectory=${project.replaceAll('%', '%%')}
ExecStart=${commandOf(spec).map(quoted).join(' ')}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=2
KillMode=mixed
TimeoutStopSec=${STOP_SECONDS}
SyslogIdentifier=${name}
UMask=0077
LimitNOFILE=65536
TasksMax=4096
MemoryHigh=${lowered(memoryMax)}
MemoryMax=${memoryMax}
${credentials.map(each => `LoadCredential=${each.replaceAll('%', '%%')}\n`).join('')}
# V8 compiles at run time, so MemoryDenyWriteExecute must stay off.
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
${user ? '' : `${sandbox(spec).join('\n')}\n`}
[Install]
WantedBy=${user ? 'default.target' : 'multi-user.target'}
`
}

/** Returns nine tenths of a size, from which on the kernel reclaims memory and slows the service down. */
function lowered(size: string): string {
  const [, amount = '', unit = ''] = /^(\d+)(\D?)$/.exec(size) ?? []
  if (unit === '%') return `${Math.max(1, Math.floor(Number(amount) * 0.9))}%`
  const factor = 1024 ** (' KMGT'.indexOf(unit || ' ') || 0)
  return String(Math.floor(Number(amount) * factor * 0.9))
}

/** Quotes an argument for systemd, which would expand `%`, `$` and escapes. */
function quoted(text: string): string {
  const escaped = text.replaceAll('%', '%%').replaceAll('$', '$$$$')
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll(/["\\]/g, '\\$&')}"`
}
