import { spawnSync } from 'node:child_process'
import { withoutNpm } from './stage.ts'
import { readJson } from './workspaces.ts'

/** An advisory that does not concern svc, in audit-exceptions.json. */
export interface AuditException {
  /** Address of the advisory. */
  readonly advisory: string
  readonly package: string
  /** Why svc is not affected. */
  readonly reason: string
}

interface Report {
  readonly message?: string
  readonly vulnerabilities?: Readonly<Record<string, { readonly via: readonly (string | Advisory)[] }>>
}

interface Advisory {
  readonly name: string
  readonly url: string
  readonly title: string
  readonly severity: string
}

/**
 * Asks the registry for advisories about the libraries of a folder with a package-lock.json, and returns the open ones:
 * one line for each that no exception explains, and one for each exception that explains none.
 *
 * Throws if the registry answers no audits.
 */
export function openAdvisories(folder: string, exceptionsFile: string): string[] {
  const { stdout, stderr } = spawnSync('npm', ['audit', '--omit=dev', '--json', '--package-lock-only'], {
    cwd: folder,
    encoding: 'utf8',
    env: withoutNpm(process.env),
    maxBuffer: 67_108_864
  })
  const report = parse(stdout)
  if (report?.vulnerabilities === undefined)
    throw new Error(`npm audit: ${report?.message ?? stderr.trim()}; name a registry that answers audits, or skip it`)
  const exceptions = readJson<readonly AuditException[]>(exceptionsFile)
  const advisories = Object.values(report.vulnerabilities).flatMap(({ via }) =>
    via.filter((each): each is Advisory => typeof each !== 'string')
  )
  const explains = (exception: AuditException, { name, url }: Advisory) =>
    exception.advisory === url && exception.package === name
  return [
    ...advisories
      .filter(advisory => !exceptions.some(exception => explains(exception, advisory)))
      .map(({ name, severity, title, url }) => `${name}: ${title} (${severity}); ${url}`),
    ...exceptions
      .filter(exception => !advisories.some(advisory => explains(exception, advisory)))
      .map(({ advisory, package: name }) => `${name}: ${advisory} is explained, but not reported; remove the exception`)
  ].sort()
}

function parse(text: string): Report | undefined {
  try {
    return JSON.parse(text) as Report
  } catch {
    return undefined
  }
}
