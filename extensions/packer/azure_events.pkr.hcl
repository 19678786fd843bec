# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# An Azure image with the handler agent in it. docs/images.md
#
#   packer init .
#   packer build -var subscription_id=… -var resource_group=images -var image_name=web-1 .

variable "subscription_id" {
  type        = string
  description = "Where the image goes. Sign-in is by the Azure CLI."
}

variable "resource_group" {
  type        = string
  description = "The resource group of the image."
}

variable "image_name" {
  type        = string
  description = "The name of the image."
}

variable "location" {
  type    = string
  default = "westeurope"
}

variable "agent_variables" {
  type        = string
  default     = "agent.yml"
  description = "A file with the variables of the role handler_agent."
}

source "azure-arm" "image" {
  subscription_id                   = var.subscription_id
  use_azure_cli_auth                = true
  managed_image_resource_group_name = var.resource_group
  managed_image_name                = var.image_name
  location                          = var.location
  vm_size                           = "Standard_B2s"
  os_type                           = "Linux"
  image_publisher                   = "Debian"
  image_offer                       = "debian-12"
  image_sku                         = "12-gen2"
}

build {
  sources = ["source.azure-arm.image"]

  # Installed and enabled, but not started: the build machine hears nothing of its own events.
  provisioner "ansible" {
    playbook_file = "image.yml"
    use_proxy     = false
    extra_arguments = [
      "--become",
      "--extra-vars", "@${var.agent_variables}",
      "--extra-vars", "handler_agent_service_state=stopped",
    ]
  }

  # Last: the machine has no identity afterwards, and nothing can be done on it any more.
  provisioner "shell" {
    execute_command = "chmod +x {{ .Path }}; sudo {{ .Vars }} sh {{ .Path }}"

    # waagent leaves the machine id, which all machines of the image would share.
    inline         = ["waagent -force -deprovision+user && truncate --size 0 /etc/machine-id && export HISTSIZE=0 && sync"]
    inline_shebang = "/bin/sh -x"
  }
}
