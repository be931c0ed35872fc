"""Reinforcement learning with environments, agents and buffers on the device."""

from .buffers import PrioritizedReplayBuffer, ReplayBuffer
from .classic import Acrobot, CartPole, FrozenLake, MountainCar, Pendulum
from .dqn import DQN
from .environment import Box, Discrete, Environment, EnvironmentStep
from .networks import AgentMLP
from .off_policy import LearningProgress
from .ppo import PPO, Iteration
from .returns import generalized_advantages
from .sac import SAC

__all__ = [
    "DQN",
    "PPO",
    "SAC",
    "Acrobot",
    "AgentMLP",
    "Box",
    "CartPole",
    "Discrete",
    "Environment",
    "EnvironmentStep",
    "FrozenLake",
    "Iteration",
    "LearningProgress",
    "MountainCar",
    "Pendulum",
    "PrioritizedReplayBuffer",
    "ReplayBuffer",
    "generalized_advantages",
]
