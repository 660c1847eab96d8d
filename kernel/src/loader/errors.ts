import { errorTable } from '@svc/plugin-sdk'

/** Errors of finding, building and loading plugin code. */
export const loaderErrors = errorTable({
  LDR_BUILD_FAILED: { message: 'The source of a plugin, or of one of its pages, does not compile.' },
  LDR_DESCRIBE_CRASHED: {
    message: 'The process that reads the manifest of a plugin ended before it returned the manifest.'
  },
  LDR_DESCRIBE_REFUSED: {
    message: 'The module body of a plugin did something that is not allowed while its manifest is read.'
  },
  LDR_DESCRIBE_TIMEOUT: { message: 'The module body of a plugin ran longer than kernel.describe_timeout_ms.' },
  LDR_DIRECTORY_UNREADABLE: { message: 'A plugin directory is missing or cannot be read.' },
  LDR_ENTRY_INVALID: { message: 'A package.json names a plugin file that does not exist or is outside the package.' },
  LDR_ESBUILD_MISSING: { message: 'A plugin is not built, and esbuild, which compiles its source, is not installed.' },
  LDR_EVALUATE_FAILED: { message: 'The module body of a plugin threw an error.' },
  LDR_MANIFEST_INVALID: { message: 'A manifest is missing, malformed or does not match the code of the plugin.' },
  LDR_NAME_TAKEN: { message: 'Two packages contain plugins with the same name.' },
  LDR_NOT_A_PLUGIN: { message: 'A package or module does not contain a plugin.' },
  LDR_PACKAGE_INVALID: { message: 'The package.json of a plugin is missing or malformed.' },
  LDR_QUARANTINED: { message: 'The process crashed while it activated this version of the plugin.' },
  LDR_SDK_MISMATCH: { message: 'A plugin was written for another major version of the SDK.' },
  LDR_TOP_LEVEL_AWAIT: { message: 'The module body of a plugin uses top-level await; await inside activate instead.' }
})
