import { errorTable } from '@svc/plugin-sdk'

/** Errors of the sidecar and of installed skills. Errors of requests to the gateway: `skillsGatewayErrors`. */
export const openclawErrors = errorTable({
  SKG_APPROVAL_UNKNOWN: { message: 'No installed skill has an approval with that id.', status: 404 },
  SKG_GATEWAY_FIXED: { message: 'This caller cannot choose another gateway or token.', status: 403 },
  SKG_METHOD_REFUSED: { message: 'This caller cannot call the method at the gateway.', status: 403 },
  SKG_NOT_APPROVED: { message: 'An installed skill was not approved, so it does not run.', status: 403 },
  SKG_NOT_INSTALLED: { message: 'No skill of that name is installed.', status: 404 },
  SKG_PARAMS_INVALID: { message: 'The parameters of a call are not JSON.', status: 400 },
  SKG_RUN_FAILED: { message: 'The container of a skill failed to start.', status: 500 },
  SKG_RUN_LIMIT: { message: 'A skill exceeded its time or its output.', status: 413 },
  SKG_SANDBOX_UNAVAILABLE: { message: 'No container runtime and no gateway can run the skill.', status: 503 },
  SKG_SECRET_MISSING: { message: 'A secret that a skill requests cannot be resolved.', status: 409 },
  SKG_SERVE_FAILED: { message: 'The server of approved skills cannot be started.', status: 500 },
  SKG_SIDECAR_DISABLED: { message: 'The sidecar is disabled, so it is not started.', status: 409 },
  SKG_SIDECAR_FAILED: { message: 'The sidecar cannot be started or stopped.', status: 500 },
  SKG_SIDECAR_MISSING: { message: 'The program of the sidecar is not installed.', status: 404 },
  SKG_SKILL_TOO_LARGE: { message: 'A skill is larger than installed skills may be.', status: 413 },
  SKG_STORE_FAILED: { message: 'The folder of installed skills cannot be read or written.', status: 500 },
  SKG_STORE_FULL: { message: 'The maximum number of skills is installed.', status: 409 },
  SKG_UNTRUSTED: { message: 'An installed skill is untrusted, so it does not run.', status: 403 }
})
