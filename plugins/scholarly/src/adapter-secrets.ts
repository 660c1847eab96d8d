import { type DeclaredSecretResolver, type KernelAdmin, RemoteFailure, secretsPolicy } from '@svc/contracts'
import { errorMessage, limitedSignal, parseSecretReference } from '@svc/plugin-sdk'

const TIMEOUT_MS = 10_000

type Admin = Pick<KernelAdmin, 'settings'>

/** Variables that strict profiles accept from a backend only, such as a vault, with the names of their settings. */
const BACKEND_ONLY: ReadonlyMap<string, string> = new Map([
  ['SVC_OPENREVIEW_ACCESS_TOKEN', 'openreview_access_token'],
  ['SVC_OPENREVIEW_EMAIL', 'openreview_email'],
  ['SVC_OPENREVIEW_PASSWORD', 'openreview_password']
])
/** Backends whose secrets strict profiles treat like variables and files. */
const NO_BACKENDS: ReadonlySet<string> = new Set(['env', 'auth', 'mesh_env', 'file'])

/** Returns the function that finds credentials of archives; see `AdapterParts.secret`. */
export function secretFinder(
  resolver: () => DeclaredSecretResolver | undefined,
  admin: () => Admin | undefined = () => undefined
) {
  return async (
    setting: string | undefined,
    variable: string,
    signal: AbortSignal = new AbortController().signal
  ): Promise<string | null> => {
    const isSet = setting !== undefined && setting !== ''
    const isRefused = isSet && isBackendOnly(variable, admin())
    if (isSet && !isRefused) return setting
    const found = resolver()
    if (found === undefined && !isRefused) return null
    const limited = limitedSignal(signal, TIMEOUT_MS)
    try {
      const finding = await found?.find(variable, limited)
      if (finding?.present === true) return (await found?.resolve(variable, limited)) ?? null
    } catch (error) {
      signal.throwIfAborted()
      throw new RemoteFailure(`${variable}: the secret cannot be read: ${errorMessage(error)}; see svc secrets`, {
        failureClass: 'config',
        code: 'secret_unreadable'
      })
    }
    if (!isRefused) return null
    throw new RemoteFailure(
      `${variable}: strict profiles take it from a backend only; run svc secrets set ${variable} --store vault`,
      { failureClass: 'config', code: 'secret_refused' }
    )
  }
}

/** Returns whether a strict profile refuses the value of a setting, which comes from no backend. */
function isBackendOnly(variable: string, admin: Admin | undefined): boolean {
  const setting = BACKEND_ONLY.get(variable)
  if (setting === undefined || !secretsPolicy(admin).strict) return false
  const key = `plugins.scholarly.${setting}`
  const report = admin?.settings('plugins.scholarly').find(each => each.key === key)
  const reference = typeof report?.value === 'string' ? parseSecretReference(report.value) : null
  return reference === null || NO_BACKENDS.has(reference.backend)
}
