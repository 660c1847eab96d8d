import { defined, isSvcError, type OperationDescriptor, rpcMethodNames, SvcError } from '@svc/plugin-sdk'
import { flagName } from './arguments.ts'

interface FieldProblem {
  readonly path: string
  readonly message: string
}

interface TypedCommand {
  readonly command: string
  /** Input fields that are positional arguments. */
  readonly args: readonly string[]
  readonly descriptor: OperationDescriptor
}

/**
 * Rewords an error of an operation for the command that the user typed: with its flags and arguments in place of input
 * fields, and without the id of the operation. Other errors stay unchanged.
 */
export function typedError(error: unknown, { command, args, descriptor }: TypedCommand): unknown {
  if (!isSvcError(error) || !error.code.startsWith('OPR_')) return error
  const typed = `svc ${command}`
  const { code, status, at, data, plugin, hint, cause } = error
  const rest = { status, at, data, plugin, cause }
  const names = [descriptor.id, ...rpcMethodNames(descriptor)]
  const isOwn = names.some(name => error.message.startsWith(`${name}: `))
  if (code === 'OPR_INPUT_INVALID' && isOwn && Array.isArray(data) && data.length > 0) {
    const problems = (data as FieldProblem[]).map(({ path, message }) => `${labelOf(path, args)}${message}`)
    return new SvcError(code, `${typed}: ${problems.join('; ')}`, defined({ ...rest, hint: `see ${typed} --help` }))
  }
  const reword = (text: string): string =>
    text.replaceAll(`svc call ${descriptor.id} `, `${typed} `).replaceAll(descriptor.id, typed)
  return new SvcError(code, reword(error.message), defined({ ...rest, hint: hint && reword(hint) }))
}

/** Returns the flag or argument of an input field, with a space; empty for the input itself. */
function labelOf(path: string, args: readonly string[]): string {
  if (path === '') return ''
  const [field = '', ...inner] = path.split('.')
  const label = args.includes(field) ? `<${flagName(field)}>` : `--${flagName(field)}`
  return `${[label, ...inner].join('.')} `
}
