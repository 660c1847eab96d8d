import { join } from 'node:path'
import { commandOf, MARK, type ServiceSpec, STOP_SECONDS } from './service.ts'

/** Value of a property list. */
type Plist = string | number | boolean | readonly Plist[] | { readonly [key: string]: Plist }

/** Label of a service: launchd has one namespace for all. */
export function labelOf(name: string): string {
  return name === 'svc' ? 'dev.svc' : `dev.svc.${name}`
}

/** Returns a property list of launchd.plist(5). */
export function launchdPlist(spec: ServiceSpec): string {
  const { name, user, project, runAs } = spec
  const log = join(project, '.vox', 'logs', `${name}.launchd.log`)
  const content: Plist = {
    Label: labelOf(name),
    ProgramArguments: commandOf(spec),
    WorkingDirectory: project,
    ...(user || runAs === undefined ? {} : { UserName: runAs.name }),
    RunAtLoad: true,
    // As Restart=on-failure: a server that ends with status 0 was stopped on purpose.
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 10,
    ExitTimeOut: STOP_SECONDS,
    ProcessType: 'Interactive',
    Umask: 0o77,
    SoftResourceLimits: { NumberOfFiles: 65_536 },
    StandardOutPath: log,
    StandardErrorPath: log
  }
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${MARK}; it replaces this file. -->
<plist version="1.0">
${xml(content)}
</plist>
`
}

function xml(value: Plist): string {
  if (typeof value === 'string') return `<string>${escaped(value)}</string>`
  if (typeof value === 'number') return `<integer>${value}</integer>`
  if (typeof value === 'boolean') return value ? '<true/>' : '<false/>'
  if (Array.isArray(value)) return `<array>\n${indented(value.map(xml))}\n</array>`
  const entries = Object.entries(value).map(([key, each]) => `<key>${escaped(key)}</key>\n${xml(each)}`)
  return `<dict>\n${indented(entries)}\n</dict>`
}

function indented(lines: readonly string[]): string {
  return lines.join('\n').replaceAll(/^/gm, '  ')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
