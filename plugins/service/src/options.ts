import { defined, type Infer } from '@svc/plugin-sdk'
import { CREDENTIAL, DEFAULT_MEMORY, DEFAULT_NAME, type installInput, MEMORY, NAME } from './commands.ts'
import { serviceErrors } from './errors.ts'

export type InstallOptions = Infer<typeof installInput>
export type ServiceOptions = Pick<InstallOptions, 'user' | 'name'>

/** Returns the options of a command with defaults. Throws `SRV_OPTIONS` for a value that the schema does not allow. */
export function serviceOptions({ user = false, name = DEFAULT_NAME }: Partial<ServiceOptions>): ServiceOptions {
  check('--name', name, NAME, 'write lower-case letters, digits and "-", such as svc-models')
  return { user, name }
}

/** Like {@link serviceOptions}, for `svc service install`. */
export function installOptions(given: Partial<InstallOptions>): InstallOptions {
  const { profile, run_as, credential = [], memory_max = DEFAULT_MEMORY, gpu = false, start = true } = given
  for (const each of credential)
    check('--credential', each, CREDENTIAL, 'write NAME:FILE, with the whole path of the file')
  check('--memory-max', memory_max, MEMORY, 'write a size such as 8G, or a percentage such as 80%')
  const { dry_run = false } = given
  return defined({ ...serviceOptions(given), profile, run_as, credential, memory_max, gpu, start, dry_run })
}

function check(flag: string, value: string, pattern: string, hint: string): void {
  if (new RegExp(pattern).test(value)) return
  throw serviceErrors.create('SRV_OPTIONS', `${flag} ${value}: the value is not valid`, { hint })
}
