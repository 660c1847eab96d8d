import type { SecretFinding } from '@svc/contracts'
import { variablesOf } from '../catalog.ts'
import type { ListedSecret } from '../declared-list.ts'
import { scrub } from '../redact.ts'
import { doctorProfileOf, type Requirement, requirementsOf } from '../requirements.ts'
import type { Secrets } from '../secrets.ts'

/** Reader in the audit log. */
export const READER = 'console'

/** A required secret without an accepted value, or a group of secrets of which one is required. */
export interface Unmet {
  /** Unique among all. */
  readonly id: string
  readonly title: string
  /** Problem and next step; contains no value of a secret. */
  readonly body: string
  /** Id of the secret if storing it helps; else null. */
  readonly store: string | null
}

/**
 * Checks the secrets that the active profile requires: those that plugins declare as required, and those of the workflow
 * `chat`. Other secrets are not read.
 */
export async function unmetRequirements(secrets: Secrets, signal?: AbortSignal): Promise<readonly Unmet[]> {
  const { secrets: listed } = secrets.catalog()
  const groups = requirementsOf('chat', doctorProfileOf(secrets.policy.profile), 'auto', undefined)
  const inGroup = (secret: ListedSecret, { variables }: Requirement): boolean =>
    variablesOf(secret).some(name => variables.includes(name))
  const wanted = listed.filter(each => each.policy === 'required' || groups.some(group => inGroup(each, group)))
  if (wanted.length === 0) return []
  const { resolve } = await secrets.open(READER)
  const findings = new Map<ListedSecret, SecretFinding>()
  const values: string[] = []
  for (const secret of wanted) {
    const { finding, value } = await resolve(secret, signal)
    findings.set(secret, finding)
    if (value !== undefined) values.push(value)
  }
  const unmet: Unmet[] = []
  const add = (secret: ListedSecret, suffix = ''): void => {
    const finding = findings.get(secret)
    if (finding === undefined || finding.present || unmet.some(({ id }) => id === secret.id)) return
    unmet.push(ofSecret(secret, finding, suffix))
  }
  for (const secret of wanted) if (secret.policy === 'required') add(secret)
  for (const group of groups) {
    const members = wanted.filter(each => inGroup(each, group))
    const suffix = `, which the profile ${secrets.policy.profile} requires for models`
    if (group.kind === 'ALL_OF') for (const each of members) add(each, suffix)
    else if (members.every(each => findings.get(each)?.present !== true)) unmet.push(ofGroup(group, suffix))
  }
  // A message of a backend may contain a value.
  return scrub(unmet, values)
}

function ofSecret(secret: ListedSecret, { status, detail }: SecretFinding, suffix: string): Unmet {
  const isMissing = status === 'MissingRequired' || status === 'MissingOptional'
  const state =
    status === 'BackendUnavailable'
      ? 'cannot be read'
      : isMissing
        ? 'is missing'
        : status === 'InvalidEmpty'
          ? 'is empty'
          : 'is refused'
  const parts = [`${secret.env}: ${secret.description}${suffix}.`, ...(detail === null ? [] : [`${detail}.`])]
  return {
    id: secret.id,
    title: `The secret ${secret.id} ${state}`,
    body: `${parts.join(' ')} Next step: ${secret.remediation}`,
    store: isMissing ? secret.id : null
  }
}

function ofGroup({ title, variables }: Requirement, suffix: string): Unmet {
  return {
    id: `one of ${variables.join(', ')}`,
    title: `A secret for the ${title} is missing`,
    body: `One of ${variables.join(', ')} is needed${suffix}. Next step: svc secrets set ${variables[0] ?? ''}`,
    store: null
  }
}
