import { errorTable } from '@svc/plugin-sdk'

/** Errors of the command line itself. Commands declare their own. */
export const cliErrors = errorTable({
  CLI_ALREADY_SERVED: { message: 'Another process serves this project already.', status: 409 },
  CLI_ARGUMENT_INVALID: {
    message: 'An argument or flag is missing, unknown, or has a value of the wrong kind.',
    status: 400
  },
  CLI_COMMAND_MISSING: { message: 'The command line names a command group but no command.', status: 400 },
  CLI_COMMAND_UNKNOWN: { message: 'No plugin contributes a command of that name.', status: 400 },
  CLI_INPUT_NOT_JSON: { message: 'The input is not valid JSON.', status: 400 }
})
