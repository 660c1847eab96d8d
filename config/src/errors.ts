import { errorTable } from '@svc/plugin-sdk'

/** Errors of configuration files, keys, values and environment variables. */
export const configErrors = errorTable({
  CFG_ALIAS_IGNORED: { message: 'A configuration file sets a setting under two of its names.' },
  CFG_EDIT_FAILED: { message: 'A configuration file has a layout that svc cannot edit.', status: 409 },
  CFG_ENV_CONFLICT: { message: 'Two settings declare the same environment variable.' },
  CFG_ENV_INVALID: { message: 'The value of an environment variable is not valid for its setting.' },
  CFG_ENV_UNKNOWN: { message: 'No setting reads this environment variable, but its name resembles a known one.' },
  CFG_FILE_UNREADABLE: { message: 'A configuration file exists but cannot be read.' },
  CFG_KEY_RESERVED: { message: 'A plugin declares a setting whose name is reserved for the kernel.' },
  CFG_KEY_UNKNOWN: { message: 'A configuration file holds a key that no schema declares.' },
  CFG_PLUGIN_UNKNOWN: { message: 'A configuration file has settings for a plugin that is not installed.' },
  CFG_PROFILE_UNKNOWN: { message: 'No file defines the selected profile.' },
  CFG_SCHEMA_INVALID: { message: "A plugin's settings schema cannot be compiled." },
  CFG_SECRET_FORBIDDEN: { message: 'A setting that is read before the secrets backends start refers to a secret.' },
  CFG_SECRET_LITERAL: {
    message: 'A secret setting is to be set to a literal value instead of a reference.',
    status: 400
  },
  CFG_SECTION_CONFLICT: { message: 'Two plugins declare the same top-level table.' },
  CFG_SET_INVALID: { message: 'An override on the command line does not have the form KEY=VALUE.', status: 400 },
  CFG_SETTING_UNKNOWN: { message: 'No setting has that name.', status: 404 },
  CFG_TOML_SYNTAX: { message: 'A configuration file is not valid TOML.' },
  CFG_VALUE_INVALID: { message: 'A setting has a value of the wrong type or out of its range.' },
  CFG_VALUE_MISSING: { message: 'A required setting has no value.' }
})

export type ConfigCode = keyof typeof configErrors.specs
